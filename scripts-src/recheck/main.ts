export { refresh } from './refresh';
export { verify } from './verify';
