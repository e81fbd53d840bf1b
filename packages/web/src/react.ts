'use client';
import { createElement, type IframeHTMLAttributes, type ReactElement, type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { type Consent, getConsent, NO_CONSENT, type Purposes, subscribe } from './consent.js';
import { frameAttributes, type FrameOptions, gateScript, type ScriptOptions } from './gate.js';
import { load, type TagOptions } from './load.js';

const onServer = (): Consent => NO_CONSENT;

/** The visitor's choice; the component is rendered again when it changes. */
export const useConsent = (): Consent => useSyncExternalStore(subscribe, getConsent, onServer);

/** Loads the consent tag once, however often it is mounted. */
export const ConsentTag = (options: TagOptions): null => {
  useEffect(() => load(options));
  return null;
};

/** Renders its children while all purposes are permitted, and otherwise `fallback`. */
export const Gate = ({ purposes, fallback = null, children }: { purposes: Purposes; fallback?: ReactNode; children?: ReactNode }): ReactNode =>
  useConsent().permits(purposes) ? children : fallback;

/** A script of a third party that the tag starts once all purposes are permitted. */
export const ConsentScript = (options: ScriptOptions): null => {
  useEffect(() => void gateScript(options));
  return null;
};

/**
 * A frame of a third party that the tag loads once all purposes are permitted. The tag may have set its `src` before React
 * hydrates, and does not notice a change of `data-src`, so that another `src` is another element.
 */
export const ConsentFrame = ({ src, purposes, title, ...more }: FrameOptions & IframeHTMLAttributes<HTMLIFrameElement>): ReactElement =>
  createElement('iframe', { ...more, ...frameAttributes({ src, purposes, title }), key: src, suppressHydrationWarning: true });
