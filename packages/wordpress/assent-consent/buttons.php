<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/** The shortcodes and blocks, by the name that follows `assent_` or `assent-consent/`. */
function buttons(): array
{
    return [
        'settings' => ['attribute' => 'data-assent-open', 'label' => __('Privacy settings', 'assent-consent')],
        'your-data' => ['attribute' => 'data-assent-your-data', 'label' => __('Your data', 'assent-consent')],
    ];
}

/** A button that opens the choice again, or the visitor's own page of the service. */
function button(string $name, string $label): string
{
    ['attribute' => $attribute, 'label' => $usual] = buttons()[$name];
    if ($name === 'your-data') {
        wp_enqueue_script('assent-consent-your-data');
    }
    return sprintf('<button type="button" class="wp-element-button" %s>%s</button>', esc_attr($attribute), esc_html($label !== '' ? $label : $usual));
}

/** `[assent_settings]`, `[assent_settings label="…"]`, `[assent_your_data]`. */
function shortcode(mixed $attributes, mixed $content, string $tag): string
{
    $label = shortcode_atts(['label' => ''], (array) $attributes, $tag)['label'];
    return button($tag === 'assent_your_data' ? 'your-data' : 'settings', (string) $label);
}

function register_buttons(): void
{
    load_plugin_textdomain('assent-consent', false, dirname(plugin_basename(__FILE__)) . '/languages');
    $version = get_file_data(__DIR__ . '/assent-consent.php', ['Version'])[0];
    wp_register_script('assent-consent-your-data', plugins_url('your-data.js', __FILE__), [], $version, true);
    wp_add_inline_script('assent-consent-your-data', 'window.assentService = ' . wp_json_encode(options()['service'], JSON_HEX_TAG | JSON_HEX_AMP) . ';', 'before');
    wp_register_script('assent-consent-blocks', plugins_url('blocks.js', __FILE__), ['wp-blocks', 'wp-block-editor', 'wp-element'], $version, true);
    $blocks = [];
    foreach (buttons() as $name => ['label' => $label]) {
        $blocks[] = ['name' => "assent-consent/$name", 'title' => $label];
        register_block_type("assent-consent/$name", [
            'api_version' => 2,
            'title' => $label,
            'category' => 'widgets',
            'attributes' => ['label' => ['type' => 'string', 'default' => '']],
            'editor_script_handles' => ['assent-consent-blocks'],
            'render_callback' => fn(array $attributes): string => sprintf('<p %s>%s</p>', get_block_wrapper_attributes(), button($name, (string) ($attributes['label'] ?? ''))),
        ]);
    }
    wp_add_inline_script('assent-consent-blocks', 'window.assentBlocks = ' . wp_json_encode($blocks, JSON_HEX_TAG | JSON_HEX_AMP) . ';', 'before');
}

add_action('init', __NAMESPACE__ . '\register_buttons');
add_shortcode('assent_settings', __NAMESPACE__ . '\shortcode');
add_shortcode('assent_your_data', __NAMESPACE__ . '\shortcode');
