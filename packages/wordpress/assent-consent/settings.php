<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

const PAGE = 'assent-consent';

function add_page(): void
{
    $title = __('Consent', 'assent-consent');
    add_options_page($title, $title, 'manage_options', PAGE, __NAMESPACE__ . '\show_page');
}

function show_page(): void
{
    if (!current_user_can('manage_options')) {
        return;
    }
    $options = options();
    ?>
    <div class="wrap">
        <h1><?php esc_html_e('Consent', 'assent-consent'); ?></h1>
        <p>
            <?php
            echo $options['pixel'] === ''
                ? esc_html__('This site is not connected.', 'assent-consent')
                /* translators: %s is the id of a pixel */
                : esc_html(sprintf(__('This site is connected to the pixel %s.', 'assent-consent'), $options['pixel']));
            ?>
        </p>
        <form method="post" action="<?php echo esc_url(admin_url('admin-post.php')); ?>">
            <input type="hidden" name="action" value="assent_consent_connect">
            <?php wp_nonce_field('assent_consent_connect'); ?>
            <h2><?php esc_html_e('Connect', 'assent-consent'); ?></h2>
            <?php text_field('service', 'url', __('Address of the service', 'assent-consent'), $options['service'], true); ?>
            <p><?php esc_html_e('You sign in at the service, or sign up, and allow this site to find or create its pixel. The permission ends as soon as that is done, and nothing of it is stored.', 'assent-consent'); ?></p>
            <?php if (!can_sign_in()) : ?>
                <p><strong><?php esc_html_e('Signing in needs https, and this page was opened without it.', 'assent-consent'); ?></strong></p>
            <?php endif; ?>
            <?php submit_button(__('Connect by signing in', 'assent-consent'), 'primary', 'sign_in', true, can_sign_in() ? [] : ['disabled' => 'disabled']); ?>
            <details>
                <summary><?php esc_html_e('Connect with an API key', 'assent-consent'); ?></summary>
                <p><?php esc_html_e('The key is used once, to find or create the pixel of this site, and is not stored.', 'assent-consent'); ?></p>
                <?php
                text_field('key', 'password', __('API key', 'assent-consent'), '', false);
                submit_button(__('Connect with this key', 'assent-consent'), 'secondary', 'with_key');
                ?>
            </details>
        </form>
        <form method="post" action="<?php echo esc_url(admin_url('admin-post.php')); ?>">
            <input type="hidden" name="action" value="assent_consent_save">
            <?php wp_nonce_field('assent_consent_save'); ?>
            <h2><?php esc_html_e('What waits for consent', 'assent-consent'); ?></h2>
            <p>
                <label for="assent-embeds"><?php esc_html_e('Embedded content needs', 'assent-consent'); ?></label>
                <select id="assent-embeds" name="embeds">
                    <?php foreach (['' => __('nothing', 'assent-consent')] + array_combine(PURPOSES, PURPOSES) as $value => $label) : ?>
                        <option value="<?php echo esc_attr((string) $value); ?>" <?php selected($options['embeds'], $value); ?>><?php echo esc_html($label); ?></option>
                    <?php endforeach; ?>
                </select>
            </p>
            <p>
                <label for="assent-scripts"><?php esc_html_e('Scripts that wait: one handle a line, with its purposes, such as "my-statistics: analytics"', 'assent-consent'); ?></label><br>
                <textarea id="assent-scripts" name="scripts" rows="5" cols="60"><?php echo esc_textarea($options['scripts']); ?></textarea>
            </p>
            <?php submit_button(__('Save', 'assent-consent')); ?>
        </form>
    </div>
    <?php
}

function text_field(string $name, string $type, string $label, string $value, bool $is_required): void
{
    printf(
        '<p><label for="assent-%1$s">%2$s</label><br><input id="assent-%1$s" name="%1$s" type="%3$s" value="%4$s" class="regular-text" autocomplete="off"%5$s></p>',
        esc_attr($name),
        esc_html($label),
        esc_attr($type),
        esc_attr($value),
        $is_required ? ' required' : '',
    );
}

/** Ends the request unless the form is genuine and its sender may change settings. */
function require_form(string $action): void
{
    require_right();
    check_admin_referer($action);
}

function require_right(): void
{
    if (!current_user_can('manage_options')) {
        wp_die(esc_html__('You may not change these settings.', 'assent-consent'), '', ['response' => 403]);
    }
}

/** Shows the settings page again, with a message, which WordPress prints as it is. */
function back(string $message, string $type): never
{
    add_settings_error(PAGE, PAGE, esc_html($message), $type);
    set_transient('settings_errors', get_settings_errors(), 30);
    wp_safe_redirect(add_query_arg(['page' => PAGE, 'settings-updated' => 'true'], admin_url('options-general.php')));
    exit;
}

function connect(): never
{
    require_form('assent_consent_connect');
    try {
        $service = service_address((string) wp_unslash($_POST['service'] ?? ''));
        $key = trim((string) wp_unslash($_POST['key'] ?? ''));
        if ($key === '' && !isset($_POST['with_key'])) {
            begin_sign_in($service);
        }
        $pixel = find_pixel($service, $key);
    } catch (\RuntimeException $error) {
        not_connected($error);
    }
    connected($service, $pixel);
}

function connected(string $service, string $pixel): never
{
    update_option(OPTION, array_merge(options(), ['service' => $service, 'pixel' => $pixel]));
    back(__('The site is connected.', 'assent-consent'), 'success');
}

function not_connected(\RuntimeException $error): never
{
    /* translators: %s is the reason */
    back(sprintf(__('The site could not be connected: %s', 'assent-consent'), $error->getMessage()), 'error');
}

function save(): never
{
    require_form('assent_consent_save');
    $embeds = sanitize_key(wp_unslash($_POST['embeds'] ?? ''));
    $scripts = sanitize_textarea_field(wp_unslash($_POST['scripts'] ?? ''));
    update_option(OPTION, array_merge(options(), ['embeds' => in_array($embeds, PURPOSES, true) ? $embeds : '', 'scripts' => $scripts]));
    back(__('The settings are saved.', 'assent-consent'), 'success');
}

add_action('admin_menu', __NAMESPACE__ . '\add_page');
add_action('admin_post_assent_consent_connect', __NAMESPACE__ . '\connect');
add_action('admin_post_assent_consent_save', __NAMESPACE__ . '\save');
