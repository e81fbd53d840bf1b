(async () => {
  const MAX_ENTRIES = 2000;
  const MAX_NAME = 4096;
  const MAX_VALUE = 65536;
  const MAX_TOTAL = 8 << 20;
  const found = [];
  let total = 0;
  const ends = (text) => (text.length > MAX_VALUE ? text.slice(0, MAX_VALUE / 2) + text.slice(-MAX_VALUE / 2) : text);
  const add = (store, name, value) => {
    const entry = [store, String(name).slice(0, MAX_NAME), ends(String(value))];
    total += entry[1].length + entry[2].length;
    if (found.length < MAX_ENTRIES && total < MAX_TOTAL) found.push(entry);
  };
  const textOf = (value) => {
    if (typeof value === 'string') return value;
    try {
      const replacer = (_, part) => {
        if (part instanceof ArrayBuffer) return [...new Uint8Array(part).slice(0, 512)];
        if (ArrayBuffer.isView(part)) return [...new Uint8Array(part.buffer, part.byteOffset, Math.min(part.byteLength, 512))];
        if (part instanceof Map || part instanceof Set) return [...part];
        return typeof part === 'bigint' ? String(part) : part;
      };
      return JSON.stringify(value, replacer) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const within = (work) => Promise.race([work.then(() => true), new Promise((done) => setTimeout(done, 2000, false))]);
  const result = (request) =>
    new Promise((done, fail) => {
      request.onsuccess = () => done(request.result);
      request.onerror = request.onblocked = () => fail(request.error);
    });
  const readDatabase = async (name) => {
    const database = await result(indexedDB.open(name));
    database.onversionchange = () => database.close();
    try {
      for (const store of database.objectStoreNames) {
        const objects = database.transaction(store).objectStore(store);
        const [keys, values] = await Promise.all([result(objects.getAllKeys(null, 50)), result(objects.getAll(null, 50))]);
        keys.forEach((key, at) => add('indexeddb', `${name}/${store}/${typeof key === 'number' ? '' : textOf(key)}`, `${textOf(key)} ${textOf(values[at])}`));
      }
    } finally {
      database.close();
    }
  };
  try {
    for (const key of Object.keys(localStorage)) add('local_storage', key, localStorage.getItem(key));
  } catch {}
  try {
    for (const key of Object.keys(sessionStorage)) add('session_storage', key, '');
  } catch {}
  const isRead = await within((async () => {
    try {
      for (const { name } of await indexedDB.databases()) await readDatabase(name).catch(() => {});
    } catch {}
    try {
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of (await cache.keys()).slice(0, 50)) {
          const response = await cache.match(request);
          const body = response && response.type !== 'opaque' ? await response.text() : '';
          const address = new URL(request.url);
          add('cache_storage', `${name}${address.origin}${address.pathname}`, `${address.search} ${body}`);
        }
      }
    } catch {}
  })());
  const whole = isRead && found.length < MAX_ENTRIES && total < MAX_TOTAL;
  return { origin: location.origin, host: location.hostname, found, whole };
})()
