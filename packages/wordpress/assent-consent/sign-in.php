<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/** The user's data about a sign-in that has begun: `service`, `client`, `state`, `verifier`, `site` and `until`. */
const SIGN_IN = 'assent_consent_sign_in';

/** For how long somebody may take who signs up at the service on the way. */
const SIGN_IN_SECONDS = 3600;

/** The address of this site to which the service sends the browser back. */
function return_address(): string
{
    return admin_url('admin-post.php?action=assent_consent_signed_in');
}

/** Whether the service can send an answer to this site in confidence. */
function can_sign_in(): bool
{
    return is_confidential(return_address());
}

function random_word(): string
{
    return base64_url(random_bytes(32));
}

function base64_url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

/**
 * The endpoints of a service (RFC 8414), all of which are its own.
 *
 * @return array{authorization_endpoint: string, token_endpoint: string, registration_endpoint: string, revocation_endpoint: string}
 */
function endpoints(string $service): array
{
    $found = request("$service/.well-known/oauth-authorization-server");
    $endpoints = [];
    foreach (['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'] as $name) {
        $address = $found[$name] ?? null;
        if (($found['issuer'] ?? null) !== $service || !is_string($address) || !str_starts_with($address, "$service/")) {
            throw new \RuntimeException(__('the answer is not that of a consent service', 'assent-consent'));
        }
        $endpoints[$name] = $address;
    }
    return $endpoints;
}

/** Registers this site as an app of the service, and sends the browser there to sign in and to allow it. */
function begin_sign_in(string $service): never
{
    if (!can_sign_in()) {
        throw new \RuntimeException(__('signing in needs https on this site', 'assent-consent'));
    }
    $endpoints = endpoints($service);
    $client = send_json($endpoints['registration_endpoint'], [
        'client_name' => 'WordPress: ' . wp_specialchars_decode(get_bloginfo('name'), ENT_QUOTES),
        'redirect_uris' => [return_address()],
        'token_endpoint_auth_method' => 'none',
    ])['client_id'] ?? null;
    if (!is_string($client)) {
        throw new \RuntimeException(__('the answer is not that of a consent service', 'assent-consent'));
    }
    $begun = [
        'service' => $service, 'client' => $client, 'state' => random_word(), 'verifier' => random_word(),
        'site' => get_current_blog_id(), 'until' => time() + SIGN_IN_SECONDS,
    ];
    update_user_meta(get_current_user_id(), SIGN_IN, $begun);
    $query = http_build_query([
        'response_type' => 'code', 'client_id' => $client, 'redirect_uri' => return_address(), 'state' => $begun['state'],
        'scope' => 'operate', 'resource' => "$service/mcp", 'code_challenge_method' => 'S256',
        'code_challenge' => base64_url(hash('sha256', $begun['verifier'], true)),
    ], '', '&');
    nocache_headers();
    wp_redirect(esc_url_raw("{$endpoints['authorization_endpoint']}?$query"), 303);
    exit;
}

/** The answer of the service, in the browser of whoever has begun. Its state takes the place of a nonce. */
function end_sign_in(): never
{
    require_right();
    try {
        $begun = begun_sign_in();
        ['service' => $service] = $begun;
        $pixel = with_token($begun, fn(string $token): string => find_pixel($service, $token));
    } catch (\RuntimeException $error) {
        not_connected($error);
    }
    connected($service, $pixel);
}

/**
 * The sign-in to which the answer in the address belongs. It can be used once.
 *
 * @return array<string, mixed>
 */
function begun_sign_in(): array
{
    $begun = get_user_meta(get_current_user_id(), SIGN_IN, true);
    $state = answered('state');
    $is_ours = is_array($begun) && is_string($begun['state'] ?? null) && hash_equals($begun['state'], $state);
    if (!$is_ours || $begun['until'] < time() || $begun['site'] !== get_current_blog_id() || answered('iss') !== $begun['service']) {
        throw new \RuntimeException(__('this sign-in was not begun here, or has expired', 'assent-consent'));
    }
    delete_user_meta(get_current_user_id(), SIGN_IN);
    return $begun;
}

/** A parameter of the answer in the address. */
function answered(string $name): string
{
    $value = wp_unslash($_GET[$name] ?? '');
    return is_string($value) ? $value : '';
}

/**
 * Redeems the code in the address, and ends what the service has allowed once `$use` is done: nothing is kept.
 *
 * @param array<string, mixed> $begun
 * @param callable(string): string $use
 */
function with_token(array $begun, callable $use): string
{
    ['service' => $service, 'client' => $client, 'verifier' => $verifier] = $begun;
    if (answered('code') === '') {
        $said = sanitize_text_field(answered('error_description'));
        throw new \RuntimeException($said !== '' ? $said : __('the answer is not that of a consent service', 'assent-consent'));
    }
    $endpoints = endpoints($service);
    $token = request($endpoints['token_endpoint'], ['method' => 'POST', 'body' => [
        'grant_type' => 'authorization_code', 'code' => answered('code'), 'code_verifier' => $verifier,
        'client_id' => $client, 'redirect_uri' => return_address(), 'resource' => "$service/mcp",
    ]])['access_token'] ?? null;
    if (!is_string($token)) {
        throw new \RuntimeException(__('the answer is not that of a consent service', 'assent-consent'));
    }
    try {
        return $use($token);
    } finally {
        wp_remote_post($endpoints['revocation_endpoint'], ['timeout' => 15, 'redirection' => 0, 'body' => ['token' => $token, 'client_id' => $client]]);
    }
}

add_action('admin_post_assent_consent_signed_in', __NAMESPACE__ . '\end_sign_in');
