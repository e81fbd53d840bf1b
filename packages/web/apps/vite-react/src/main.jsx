import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { load } from '@assent/web';
import { ConsentTag } from '@assent/web/react';
import { Shop } from './shop.jsx';

const tag = { service: 'http://consent.example', pixel: 'vite-react' };

// Two ways of loading the tag, to show that it is loaded once.
load(tag);
createRoot(document.getElementById('root')).render(
  <StrictMode>
    <ConsentTag {...tag} />
    <Shop />
  </StrictMode>,
);
