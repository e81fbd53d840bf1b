import type { Component, Snippet } from 'svelte';
import type { HTMLIframeAttributes } from 'svelte/elements';
import type { Purposes } from '../consent.js';
import type { FrameOptions, ScriptOptions } from '../gate.js';
import type { TagOptions } from '../load.js';

export { consent, useConsent } from './store.js';

/** A frame of a third party that the tag loads once all purposes are permitted. */
export declare const ConsentFrame: Component<FrameOptions & HTMLIframeAttributes>;

/** A script of a third party that the tag starts once all purposes are permitted. */
export declare const ConsentScript: Component<ScriptOptions>;

/** The consent tag in the head of the page, for the outermost layout. */
export declare const ConsentTag: Component<TagOptions>;

/** Renders its children while all purposes are permitted, and otherwise the snippet `fallback`. */
export declare const Gate: Component<{ purposes: Purposes; children?: Snippet; fallback?: Snippet }>;
