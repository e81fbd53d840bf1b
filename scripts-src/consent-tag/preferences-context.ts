import type { TagConfig } from '../shared/config';
import type { ask } from '../shared/http';
import type { Choice, State } from './choice';

/** What the consent tag passes to the module of the reopened popup. */
export interface Kit {
  /** Where everything that is shown lies. */
  frame: HTMLElement;
  config: TagConfig;
  /** With whom data may be shared, in words. */
  shared?: string;
  /** The choice in force. */
  choice: Choice | null;
  permitted(needs: string[]): boolean;
  /** Sends a request to the service. */
  ask: typeof ask;
  /** Takes an answer that was given in this panel; resolves to whether it holds. */
  answer(panel: HTMLElement, state: State, purposes: string[]): Promise<boolean>;
  /** Gives the focus back to where it was before. */
  giveBack(frame: HTMLElement): void;
}

/** Opens the popup. */
export type Opener = (kit: Kit) => void;
