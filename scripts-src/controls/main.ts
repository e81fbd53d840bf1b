export { clearControls } from './button';
export { showInModal } from './modal';
export { uncover } from './uncover';
