import { defineComponent, h, onMounted, onScopeDispose, type Plugin, type PropType, type ShallowRef, shallowRef } from 'vue';
import { type Consent, getConsent, NO_CONSENT, type Purposes, subscribe } from './consent.js';
import { frameAttributes, gateScript } from './gate.js';
import { load, type TagOptions } from './load.js';

/** The visitor's choice. It is known once the component is mounted, so that hydration finds the server's markup. */
export const useConsent = (): Readonly<ShallowRef<Consent>> => {
  const consent = shallowRef(NO_CONSENT);
  let unsubscribe = (): void => {};
  onMounted(() => {
    const update = (): void => void (consent.value = getConsent());
    unsubscribe = subscribe(update);
    update();
  });
  onScopeDispose(() => unsubscribe());
  return consent;
};

const PURPOSES = { type: [String, Array] as PropType<Purposes>, required: true } as const;
const TEXT = { type: String, required: true } as const;

/** Renders its default slot while all purposes are permitted, and otherwise the slot `fallback`. */
export const Gate = defineComponent({
  name: 'Gate',
  props: { purposes: PURPOSES },
  setup(props, { slots }) {
    const consent = useConsent();
    return () => (consent.value.permits(props.purposes) ? slots.default?.() : slots.fallback?.());
  },
});

/** A frame of a third party that the tag loads once all purposes are permitted. Another `src` is another element. */
export const ConsentFrame = defineComponent({
  name: 'ConsentFrame',
  props: { src: TEXT, title: TEXT, purposes: PURPOSES },
  setup: (props) => () => h('iframe', { ...frameAttributes(props), key: props.src }),
});

/** A script of a third party that the tag starts once all purposes are permitted. */
export const ConsentScript = defineComponent({
  name: 'ConsentScript',
  props: { src: TEXT, purposes: PURPOSES, cookies: Array as PropType<string[]>, type: String, nonce: String },
  setup(props) {
    onMounted(() => gateScript(props));
    return () => null;
  },
});

/** Loads the consent tag: `app.use(consentTag, { service, pixel })`. */
export const consentTag: Plugin<[TagOptions]> = { install: (_app, options) => load(options) };
