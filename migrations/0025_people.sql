-- Lists of people, ordered by time or by name, and searched by the beginning of a name, a company or an address.
-- The functions are bodies of one expression, not texts, so that they depend on no search path.

-- A text for comparing, without case and accents. Where the database has the locale C, only Latin letters lose
-- their case. At most 100 characters, because entries of an index are limited.
CREATE FUNCTION folded(words text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN left(lower(regexp_replace(normalize(left(words, 200), NFKD), '[\u0300-\u036f]', '', 'g')), 100);

-- A field of a contact that is not blank, or NULL. It cannot fail: no contact with a NUL in a text is stored.
CREATE FUNCTION contact_text(contact json, field text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN NULLIF(btrim(contact ->> field), '');

-- The name by which people are ordered, or the address instead. The last character of all, for people with neither.
CREATE FUNCTION person_name(contact json) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN COALESCE(
        folded(COALESCE(
            contact_text(contact, 'name'),
            contact_text(contact, 'first_name') || ' ' || contact_text(contact, 'last_name'),
            contact_text(contact, 'first_name'),
            contact_text(contact, 'last_name'),
            contact_text(contact, 'email'))),
        chr(1114111));

CREATE FUNCTION person_last_name(contact json) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN folded(COALESCE(
        contact_text(contact, 'last_name'), substring(contact_text(contact, 'name') FROM '\S+$')));

CREATE FUNCTION person_company(contact json) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN folded(contact_text(contact, 'company'));

CREATE FUNCTION person_email(contact json) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN folded(contact_text(contact, 'email'));

CREATE INDEX contacts_last_seen
    ON contacts (pixel_id, (COALESCE(last_seen_at, resolved_at) COLLATE "C"), id);
CREATE INDEX contacts_name ON contacts (pixel_id, (person_name(contact) COLLATE "C"), id);
CREATE INDEX contacts_last_name ON contacts (pixel_id, (person_last_name(contact) COLLATE "C"), id);
CREATE INDEX contacts_company ON contacts (pixel_id, (person_company(contact) COLLATE "C"), id);
CREATE INDEX contacts_email ON contacts (pixel_id, (person_email(contact) COLLATE "C"), id);
