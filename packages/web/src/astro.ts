import { gateScript, type ScriptOptions } from './gate.js';
import { tagAddress, tagAttributes, type TagOptions } from './load.js';

/** The part of Astro that the integration uses. */
interface Setup {
  injectScript(stage: 'head-inline' | 'page', code: string): void;
}

export interface AstroOptions extends TagOptions {
  /** Scripts of third parties that run once on a visit, also with client-side navigation. */
  scripts?: readonly ScriptOptions[];
}

/** The tag's script is created in the page's head. The address is part of the page, so that the install check finds it. */
const start = (src: string, nonce: string, attributes: Record<string, string>): void => {
  const script = Object.assign(document.createElement('script'), { async: true, src, nonce });
  for (const [name, value] of Object.entries(attributes)) script.setAttribute(name, value);
  document.head.prepend(script);
};

/** JSON that cannot end a script element. */
const code = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

/** An Astro integration: puts the tag into the head of every page, and starts `scripts` when they are permitted. */
export default ({ scripts = [], ...tag }: AstroOptions) => ({
  name: '@assent/web',
  hooks: {
    'astro:config:setup': ({ injectScript }: Setup): void => {
      const args = code([tagAddress(tag), tag.nonce ?? '', tagAttributes(tag)]).slice(1, -1);
      injectScript('head-inline', `(${start})(${args})`);
      if (!scripts.length) return;
      injectScript('page', `import { keepScripts } from '@assent/web/astro'; keepScripts(${code(scripts)})`);
    },
  },
});

/** Adds gated scripts, and adds those that still wait again after Astro's router has replaced the head. */
export const keepScripts = (scripts: readonly ScriptOptions[]): void => {
  const started = new Set<string>();
  const add = (): void => {
    for (const script of scripts) {
      if (!started.has(script.src)) gateScript(script).addEventListener('load', () => started.add(script.src), { once: true });
    }
  };
  add();
  document.addEventListener('astro:after-swap', add);
};
