export default defineNuxtConfig({
  compatibilityDate: '2026-11-01',
  telemetry: false,
  modules: [['@assent/web/nuxt', { service: 'http://consent.example', pixel: 'nuxt' }]],
});
