export { applyGate } from './gate';
export { enter } from './keyboard';
export { press } from './press';
export { reach } from './reach';
export { refresh } from './refresh';
export { uncover } from './uncover';
export { verify } from './verify';
