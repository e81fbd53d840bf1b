import { getConsent, load, type Snapshot } from '@assent/web';
import astro from '@assent/web/astro';
import { ConsentTag } from '@assent/web/next';
import { ConsentFrame, Gate, useConsent } from '@assent/web/react';
import { createConsentServer, renewedCookie, sharedChoice, verifyWebhook } from '@assent/web/server';
import { consent, Gate as SvelteGate } from '@assent/web/svelte';
import { consentTag, useConsent as useVueConsent } from '@assent/web/vue';
import type { ComponentProps } from 'svelte';
import { createApp } from 'vue';

/** Uses of every entry, which must compile; each marked line must not. */
export const Page = () => (
  <Gate purposes={['analytics', 'resolution']} fallback={<p>{useConsent().state}</p>}>
    <ConsentTag service="https://consent.example.com" pixel="p" lang="de" />
    <ConsentTag service="https://consent.example.com" pixel="test_p" signals="uet clarity" compat="" />
    <ConsentFrame src="https://videos.example/1" purposes="analytics" title="Video" width={320} />
    {/* @ts-expect-error: no such purpose */}
    <Gate purposes="statistics" />
    {/* @ts-expect-error: a frame needs a title */}
    <ConsentFrame src="https://videos.example/1" purposes="analytics" />
  </Gate>
);

load({ service: 'https://consent.example.com', pixel: 'p' });
// @ts-expect-error: the pixel is missing
load({ service: 'https://consent.example.com' });

export const snapshot: Snapshot | undefined = window.assent?.get();
window.assent?.('track', 'bought', { price: 1 });
// @ts-expect-error: no such method
window.assent?.('remove');

export const saved: Promise<boolean> | undefined = window.assent?.accept(['analytics']);
export const permitted: boolean = getConsent().permits('analytics') && useVueConsent().value.permits('resolution');
export const gate: ComponentProps<typeof SvelteGate> = { purposes: 'analytics' };
export const stop: () => void = consent.subscribe(({ visitor }) => visitor);
export const integration = astro({ service: 'https://consent.example.com', pixel: 'p' }).name;
createApp({}).use(consentTag, { service: 'https://consent.example.com', pixel: 'p' });

const server = createConsentServer({ service: 'https://consent.example.com', pixel: 'p' });
export const onServer: Promise<boolean> = server.permits(new Request('https://shop.example/'), 'analytics');
export const type = async (request: Request): Promise<string> => (await verifyWebhook('whsec_', request, '')).type;
export const time = (request: Request): number | undefined => sharedChoice(request, 'p')?.time;
export const cookie = (request: Request): string | null => renewedCookie(request, 'p', 'shop.example', 365);
// @ts-expect-error: the host is missing
renewedCookie(new Request('https://shop.example/'), 'p');
