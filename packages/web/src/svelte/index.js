export { consent, useConsent } from './store.js';
export { default as ConsentFrame } from './ConsentFrame.svelte';
export { default as ConsentScript } from './ConsentScript.svelte';
export { default as ConsentTag } from './ConsentTag.svelte';
export { default as Gate } from './Gate.svelte';
