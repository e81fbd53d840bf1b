<?php
/**
 * Plugin Name:       Assent Consent
 * Description:       Asks visitors for consent, and starts scripts and embedded content of third parties only after it.
 * Version:           1.0.0
 * Requires at least: 6.1
 * Requires PHP:      8.2
 * License:           MIT OR Apache-2.0
 * Text Domain:       assent-consent
 * Domain Path:       /languages
 */

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/** The option with `service`, `pixel`, `embeds` and `scripts`. */
const OPTION = 'assent_consent';

const PURPOSES = ['analytics', 'resolution', 'newsletter', 'email_sharing', 'phone_sharing', 'partner_email', 'partner_calls', 'partner_sms'];

require __DIR__ . '/service.php';
require __DIR__ . '/sign-in.php';
require __DIR__ . '/settings.php';
require __DIR__ . '/gate.php';
require __DIR__ . '/consent.php';
require __DIR__ . '/buttons.php';
require __DIR__ . '/functions.php';

/** @return array{service: string, pixel: string, embeds: string, scripts: string} */
function options(): array
{
    $stored = get_option(OPTION);
    return array_merge(['service' => '', 'pixel' => '', 'embeds' => 'analytics', 'scripts' => ''], is_array($stored) ? $stored : []);
}

/** The address of the tag, or an empty text while the site is not connected. */
function tag_address(): string
{
    ['service' => $service, 'pixel' => $pixel] = options();
    return $service === '' || $pixel === '' ? '' : $service . '/px/' . rawurlencode($pixel) . '.js';
}

/** Prints the tag before everything else in the head. */
function print_tag(): void
{
    if (tag_address() === '') {
        return;
    }
    // The tag passes choices on to the WP Consent API where that is active.
    $signals = function_exists('wp_has_consent') ? ['data-assent-signals' => 'wordpress'] : [];
    wp_print_script_tag(['id' => 'assent-consent', 'async' => true, 'src' => esc_url_raw(tag_address())] + $signals);
}

function add_policy_text(): void
{
    $text = __('This site asks for your consent before it loads statistics or content of third parties. Your choice is stored in your browser and, as a signed receipt, by our consent service. You can change it at any time with the button at the edge of every page.', 'assent-consent');
    wp_add_privacy_policy_content(__('Assent Consent', 'assent-consent'), wp_kses_post(wpautop($text)));
}

add_action('wp_head', __NAMESPACE__ . '\print_tag', PHP_INT_MIN);
add_action('admin_init', __NAMESPACE__ . '\add_policy_text');
