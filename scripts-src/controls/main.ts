export { clearControls } from './button';
