/** The pixel and the visitor whose data the page shows. */
export interface Ids {
  pixel_id: string;
  visitor_id: string;
}

/**
 * Reads the ids from the fragment of the page's address, which browsers do not send. Null if they are missing or invalid.
 */
export const idsOf = (fragment: string): Ids | null => {
  const given = new URLSearchParams(fragment.slice(1));
  const pixel_id = given.get('pixel') || '';
  const visitor_id = given.get('visitor') || '';
  return /^[\w-]{1,80}$/.test(pixel_id) && /^[\w-]{1,128}$/.test(visitor_id) ? { pixel_id, visitor_id } : null;
};

export const fragmentOf = ({ pixel_id, visitor_id }: Ids): string => `#pixel=${pixel_id}&visitor=${visitor_id}`;
