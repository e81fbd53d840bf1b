import { tagAddress, tagAttributes, type TagOptions } from './load.js';

/** The parts of Nuxt that the module uses. */
interface Nuxt {
  options: {
    app: { head: { script?: unknown[] } };
    build: { transpile: unknown[] };
  };
  hook(name: string, change: (list: any) => void): void;
}

const COMPONENTS = ['Gate', 'ConsentFrame', 'ConsentScript'];
const FILE = '@assent/web/vue';

const componentOf = (name: string) => {
  const kebabName = name.replace(/\B[A-Z]/g, '-$&').toLowerCase();
  const names = { pascalName: name, kebabName, export: name, chunkName: 'components/' + kebabName };
  return { ...names, filePath: FILE, shortPath: FILE, prefetch: false, preload: false, global: false, mode: 'all' };
};

/** A Nuxt module: puts the tag first in the head of every page, and imports `useConsent` and the components by itself. */
export default function assent(options: TagOptions, nuxt: Nuxt): void {
  nuxt.options.app.head.script = [
    { src: tagAddress(options), async: true, nonce: options.nonce, ...tagAttributes(options), tagPriority: 'critical' },
    ...(nuxt.options.app.head.script ?? []),
  ];
  nuxt.options.build.transpile.push('@assent/web');
  nuxt.hook('imports:extend', (imports) => imports.push({ name: 'useConsent', from: FILE }));
  nuxt.hook('components:extend', (components) => components.push(...COMPONENTS.map(componentOf)));
}
