export type { Assent, Snapshot } from './tag.js';
export { type Consent, getConsent, type Purpose, type Purposes, subscribe, visitorHeaders } from './consent.js';
export { frameAttributes, type FrameOptions, gateScript, type ScriptOptions } from './gate.js';
export { load, tagAddress, type TagOptions } from './load.js';
