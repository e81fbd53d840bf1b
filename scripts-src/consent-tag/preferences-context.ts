import type { TagConfig } from '../shared/config';
import type { Press } from '../shared/elements';
import type { Send } from '../shared/http';
import type { Choice, State } from './choice';

/** The values and functions of the consent tag that the module of the reopened popup uses. */
export interface PreferencesContext {
  /** Contains all visible elements. */
  frame: HTMLElement;
  config: TagConfig;
  /** The choice in force. */
  choice: Choice | null;
  permitted(needs: string[]): boolean;
  /** Sends a request to the service. */
  send: Send;
  /** Makes the choice of a button in this panel that was pressed. Resolves to whether it is in force. */
  submit(panel: HTMLElement, state: State, purposes: string[], event?: Press): Promise<boolean>;
  /** Restores the focus that the page had before. */
  refocus(frame: HTMLElement): void;
}

/** Opens the popup. */
export type Opener = (context: PreferencesContext) => void;
