(async () => {
  const MAX_ENTRIES = 2000;
  const MAX_NAME = 4096;
  const MAX_VALUE = 65536;
  const MAX_TOTAL = 16 << 20;
  // More bytes within a value are read like those of a Blob.
  const MAX_BYTES = 16384;
  const MAX_BLOB = 32 << 20;
  const BATCH = 50;
  // Characters that are hashed at a time.
  const PART = 1 << 20;
  const TIME = 3000;
  // Servers give each response other values for these, whoever asks.
  const OF_RESPONSE =
    /^(age|date|expires|last-modified|nel|report-to|reporting-endpoints|traceparent|via|content-security-policy.*|cdn-requestid|eagleid|x-77-nzt|x-azure-ref|x-guploader-uploadid|x-nws-log-uuid|x-requestid)$|(^|-)(amz|cache|cf|cloud|correlation|ray|request|served|timer|timing|trace|varnish|vercel)(-|$)/;
  const found = [];
  let total = 0;
  let whole = true;
  let isOver = false;
  const isFull = () => found.length >= MAX_ENTRIES || total >= MAX_TOTAL;
  // Pages without TLS have no SubtleCrypto. The constants are those of MurmurHash3. Each step can be undone, so that a
  // difference remains.
  const mix = async (text) => {
    let [a, b, c, d] = [1, 2, 3, 4];
    for (let start = 0; start < text.length && !isOver; start += PART) {
      // The limit of time holds between two parts.
      if (start) await new Promise((done) => setTimeout(done));
      const end = Math.min(start + PART, text.length);
      for (let at = start; at < end; at++) {
        const unit = text.charCodeAt(at);
        a = b ^ Math.imul(a ^ unit, 0x239b961b);
        b = c ^ Math.imul(b ^ unit, 0xab0e9789);
        c = d ^ Math.imul(c ^ unit, 0x38b34ae5);
        d = a ^ Math.imul(d ^ unit, 0xa1e38b93);
      }
    }
    return [a, b, c, d].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
  };
  const digest = async (text) => {
    if (!globalThis.crypto?.subtle) return mix(text);
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
    return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  };
  // The beginning and the end of a long value are read, and its digest shows whether the middle differs as well.
  const add = async (store, name, value) => {
    const text = name.length > MAX_NAME ? `${name} ${value}` : value;
    const isLong = text.length > MAX_VALUE;
    const rest = isLong ? await digest(text) : '';
    const ends = isLong ? text.slice(0, MAX_VALUE / 2) + text.slice(-MAX_VALUE / 2) : text;
    const entry = [store, name.slice(0, MAX_NAME), ends, rest];
    total += entry[1].length + entry[2].length;
    if (!isFull()) found.push(entry);
  };
  const textOfBlob = async (blob) => {
    if (blob.size > MAX_BLOB) {
      whole = false;
      return '';
    }
    // Every byte is another character, which is not so in UTF-8.
    return new TextDecoder('latin1').decode(await blob.arrayBuffer());
  };
  const textOf = async (value) => {
    if (typeof value === 'string') return value;
    const blobs = [];
    const known = new Set();
    const byName = (blob) => `blob ${blobs.push(blob)}`;
    const byBytes = (bytes) => (bytes.length > MAX_BYTES ? byName(new Blob([bytes])) : [...bytes]);
    const replacer = (_, part) => {
      if (typeof part === 'bigint') return String(part);
      if (typeof part !== 'object' || part === null) return part;
      if (known.has(part)) return 'again';
      known.add(part);
      if (ArrayBuffer.isView(part)) return byBytes(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
      switch (Object.prototype.toString.call(part).slice(8, -1)) {
        case 'ArrayBuffer':
          return byBytes(new Uint8Array(part));
        case 'Blob':
        case 'File':
          return [byName(part), part.name, part.type];
        case 'Map':
        case 'Set':
          return [...part];
        case 'DOMException':
        case 'Error':
        case 'RegExp':
          return String(part);
        case 'Array':
        case 'Boolean':
        case 'Number':
        case 'Object':
        case 'String':
          return part;
        default:
          // Keys of WebCrypto and pictures, for example, are not shown by JSON.
          whole = false;
          return String(part);
      }
    };
    let text = '';
    try {
      text = JSON.stringify(value, replacer) ?? String(value);
    } catch {
      whole = false;
    }
    for (const blob of blobs) text += ` ${await textOfBlob(blob)}`;
    return text;
  };
  const result = (request) =>
    new Promise((done, fail) => {
      request.onsuccess = () => done(request.result);
      request.onerror = request.onblocked = () => fail(request.error);
    });
  const readStore = async (database, store) => {
    let range = null;
    while (!isFull()) {
      const objects = database.transaction(store).objectStore(store);
      const reading = [result(objects.getAllKeys(range, BATCH)), result(objects.getAll(range, BATCH))];
      const [keys, values] = await Promise.all(reading);
      for (const [at, key] of keys.entries()) {
        const shown = await textOf(key);
        const name = `${database.name}/${store}/${typeof key === 'number' ? '' : shown}`;
        await add('indexeddb', name, `${shown} ${await textOf(values[at])}`);
      }
      if (keys.length < BATCH) return;
      range = IDBKeyRange.lowerBound(keys.at(-1), true);
    }
  };
  const readDatabase = async (name) => {
    const database = await result(indexedDB.open(name));
    database.onversionchange = () => database.close();
    try {
      for (const store of database.objectStoreNames) await readStore(database, store);
    } finally {
      database.close();
    }
  };
  const textOfHeaders = (headers, isMade) => {
    const kept = [...headers].filter(([name]) => isMade || !OF_RESPONSE.test(name));
    return kept.map((header) => header.join(': ')).join('\n');
  };
  const readCache = async (name) => {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      if (isFull()) return;
      const response = await cache.match(request);
      const address = new URL(request.url);
      const parts = [
        address.search,
        textOfHeaders(request.headers, true),
        // A script of the page made a response of this type.
        textOfHeaders(response.headers, response.type === 'default'),
        response.type === 'opaque' ? '' : await textOfBlob(await response.blob()),
      ];
      await add('cache_storage', `${name}${address.origin}${address.pathname}`, parts.join(' '));
    }
  };
  const attempt = (work) =>
    work().catch(() => {
      whole = false;
    });
  const readAll = async () => {
    await attempt(async () => {
      for (const key of Object.keys(localStorage)) await add('local_storage', key, localStorage.getItem(key));
    });
    await attempt(async () => {
      for (const key of Object.keys(sessionStorage)) await add('session_storage', key, '');
    });
    await attempt(async () => {
      for (const { name } of await indexedDB.databases()) await attempt(() => readDatabase(name));
    });
    await attempt(async () => {
      // Only secure origins have it.
      if (!('caches' in globalThis)) return;
      for (const name of await caches.keys()) await attempt(() => readCache(name));
    });
    return true;
  };
  const origin = globalThis.origin;
  // A document without an origin has no storage.
  if (origin === 'null') return { host: '', found, whole };
  const isRead = await Promise.race([readAll(), new Promise((done) => setTimeout(done, TIME, false))]);
  isOver = true;
  return { host: new URL(origin).hostname, found, whole: whole && isRead && !isFull() };
})()
