<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/** For how many seconds a permission is used again, where an object cache is shared by requests. */
const PERMISSION_SECONDS = 5;

/**
 * The choice in the cookie that the tag writes when a site shares one choice between its subdomains. Every subdomain can
 * write it, so an acceptance is only a reason to ask the service.
 *
 * @return array{state: string, purposes: list<string>, visitor: string}|null
 */
function choice_in_cookie(string $header, string $pixel): ?array
{
    $newest = null;
    foreach (explode(';', $header) as $cookie) {
        [$name, $value] = explode('=', trim($cookie), 2) + [1 => ''];
        $parts = explode('.', $value);
        if ($name !== 'assent' || count($parts) !== 9 || $parts[0] !== '1' || $parts[1] !== $pixel || !ctype_digit($parts[3])) {
            continue;
        }
        $choice = ['state' => $parts[2], 'time' => (int) $parts[3], 'purposes' => explode('~', $parts[4]), 'visitor' => $parts[6]];
        $is_later = $newest === null || $choice['time'] > $newest['time'];
        if ($is_later || ($choice['time'] === $newest['time'] && $choice['state'] !== 'accepted')) {
            $newest = $choice;
        }
    }
    return $newest;
}

/** The visitor of this request who may have permitted a purpose, or an empty text. */
function visitor_to_ask_about(string $purpose): string
{
    $named = (string) wp_unslash($_SERVER['HTTP_ASSENT_VISITOR'] ?? '');
    $choice = choice_in_cookie((string) wp_unslash($_SERVER['HTTP_COOKIE'] ?? ''), options()['pixel']);
    if ($choice !== null && ($choice['state'] !== 'accepted' || !in_array($purpose, $choice['purposes'], true))) {
        return '';
    }
    $visitor = $named !== '' ? $named : $choice['visitor'] ?? '';
    return preg_match('/^[A-Za-z0-9_-]{1,128}$/', $visitor) === 1 ? $visitor : '';
}

/** Whether the service confirms a permission now. Any failure means that it does not. */
function is_confirmed(string $visitor, string $purpose): bool
{
    ['service' => $service, 'pixel' => $pixel] = options();
    $query = http_build_query(['pixel_id' => $pixel, 'visitor_id' => $visitor, 'required_purpose' => $purpose]);
    $answer = wp_remote_get("$service/v1/consent/check?$query", ['timeout' => 2, 'redirection' => 0]);
    if (is_wp_error($answer) || (int) wp_remote_retrieve_response_code($answer) !== 200) {
        return false;
    }
    $check = json_decode(wp_remote_retrieve_body($answer), true);
    return is_array($check) && ($check['permitted'] ?? null) === true;
}

/** Whether the visitor of this request permits a purpose. Pages that ask are not to be cached for others. */
function permits(string $purpose): bool
{
    /** @var array<string, bool> $answers */
    static $answers = [];
    defined('DONOTCACHEPAGE') || define('DONOTCACHEPAGE', true);
    if (tag_address() === '' || !in_array($purpose, PURPOSES, true)) {
        return false;
    }
    $visitor = visitor_to_ask_about($purpose);
    if ($visitor === '') {
        return false;
    }
    $key = options()['pixel'] . " $visitor $purpose";
    if (isset($answers[$key])) {
        return $answers[$key];
    }
    if (wp_cache_get($key, 'assent-consent') === 'permitted') {
        return $answers[$key] = true;
    }
    $answers[$key] = is_confirmed($visitor, $purpose);
    if ($answers[$key]) {
        wp_cache_set($key, 'permitted', 'assent-consent', PERMISSION_SECONDS);
    }
    return $answers[$key];
}

/** Tells the WP Consent API that this plugin conforms to it, and that visitors must opt in. */
function join_consent_api(): void
{
    add_filter('wp_consent_api_registered_' . plugin_basename(__DIR__ . '/assent-consent.php'), '__return_true');
    add_filter('wp_get_consent_type', fn(mixed $type): mixed => tag_address() === '' ? $type : 'optin');
}

add_action('plugins_loaded', __NAMESPACE__ . '\join_consent_api');
