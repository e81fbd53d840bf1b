import { defineConfig } from 'astro/config';
import assent from '@assent/web/astro';

const scripts = [{ src: 'http://stats.example/astro.js', purposes: 'analytics', cookies: ['stats_id'] }];

export default defineConfig({
  integrations: [assent({ service: 'http://consent.example', pixel: 'astro', scripts })],
});
