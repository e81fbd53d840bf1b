import { createApp } from 'vue';
import { consentTag } from '@assent/web/vue';
import Shop from './Shop.vue';

createApp(Shop).use(consentTag, { service: 'http://consent.example', pixel: 'vite-vue' }).mount('#app');
