import type { Choice, State } from '../consent-tag/choice';
import type { TagConfig } from '../shared/config';

/** The interface that the consent tag passes in. */
export interface Session {
  permitted(needs: string[]): boolean;
  /** Records what a released script stores. */
  noteStored(names: string | undefined, needs: string): void;
  /** Converts text to a trusted type; throws where the page does not allow our policy. */
  trusted(text: string, create?: string): string;
  config: TagConfig;
  /** The choice in force. */
  choice: Choice | null;
  /** Makes a choice. Without an action, it counts as the page's. Resolves to whether it is in force. */
  decide(state: State, purposes: string[], by?: { act: 'pointer' | 'keyboard' | 'assistive' }): Promise<boolean>;
}
