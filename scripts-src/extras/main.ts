export { applyGate } from './gate';
export { expire } from './expire';
export { enter } from './keyboard';
export { press } from './press';
export { reach } from './reach';
export { refresh } from './refresh';
export { uncover } from './uncover';
export { verify } from './verify';
