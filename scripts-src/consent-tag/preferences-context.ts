import type { TagConfig } from '../shared/config';
import type { Send } from '../shared/http';
import type { Choice, State } from './choice';

/** What the consent tag passes to the module of the reopened popup. */
export interface PreferencesContext {
  /** Where everything that is shown lies. */
  frame: HTMLElement;
  config: TagConfig;
  /** With whom data may be shared, in words. */
  shared?: string;
  /** The choice in force. */
  choice: Choice | null;
  permitted(needs: string[]): boolean;
  /** Sends a request to the service. */
  send: Send;
  /** Takes an answer that was given in this panel; resolves to whether it holds. */
  submit(panel: HTMLElement, state: State, purposes: string[]): Promise<boolean>;
  /** Gives the focus back to where it was before. */
  refocus(frame: HTMLElement): void;
}

/** Opens the popup. */
export type Opener = (context: PreferencesContext) => void;
