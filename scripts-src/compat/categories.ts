/** Category or service of another tool, in lower case → our purposes, separated by spaces. */
export type CategoryMap = Record<string, string>;

/**
 * The usual names of categories. Those that no purpose covers (`preferences`, `functional`) have no entry: an element
 * must not run under a permission that was given for something else.
 */
const USUAL: CategoryMap = {
  statistics: 'analytics',
  analytics: 'analytics',
  performance: 'analytics',
  c0002: 'analytics',
  marketing: 'resolution',
  advertising: 'resolution',
  advertisement: 'resolution',
  ads: 'resolution',
  targeting: 'resolution',
  c0004: 'resolution',
  c0005: 'resolution',
};

/** Names of categories that no tool lets visitors refuse. */
export const NECESSARY = /^(strictly.?)?necessary$|^essential$|^required$|^c0001$|^1$/i;

/** The usual names and those of the attribute: `data-assent-compat="youtube=analytics ads=resolution,partner_email"`. */
export const readMap = (attribute: string): CategoryMap => {
  const map = { ...USUAL };
  for (const [, name, purposes] of attribute.matchAll(/([^\s=]+)=(\S+)/g)) map[name.toLowerCase()] = purposes.replace(/,/g, ' ');
  return map;
};
