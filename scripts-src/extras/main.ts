export { stepAside } from './aside';
export { applyGate } from './gate';
export { goOn } from './keyboard';
export { press } from './press';
export { reach } from './reach';
export { refresh } from './refresh';
export { verify } from './verify';
