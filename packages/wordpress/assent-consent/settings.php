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
            <p><?php esc_html_e('The key is used once, to find or create the pixel of this site, and is not stored.', 'assent-consent'); ?></p>
            <?php
            text_field('service', 'url', __('Address of the service', 'assent-consent'), $options['service']);
            text_field('key', 'password', __('API key', 'assent-consent'), '');
            submit_button(__('Connect', 'assent-consent'));
            ?>
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

function text_field(string $name, string $type, string $label, string $value): void
{
    printf(
        '<p><label for="assent-%1$s">%2$s</label><br><input id="assent-%1$s" name="%1$s" type="%3$s" value="%4$s" class="regular-text" autocomplete="off" required></p>',
        esc_attr($name),
        esc_html($label),
        esc_attr($type),
        esc_attr($value),
    );
}

/** Ends the request unless the form is genuine and its sender may change settings. */
function require_form(string $action): void
{
    if (!current_user_can('manage_options')) {
        wp_die(esc_html__('You may not change these settings.', 'assent-consent'), '', ['response' => 403]);
    }
    check_admin_referer($action);
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
    $service = untrailingslashit(esc_url_raw(trim((string) wp_unslash($_POST['service'] ?? '')), ['https', 'http']));
    $key = trim((string) wp_unslash($_POST['key'] ?? ''));
    try {
        $pixel = find_pixel($service, $key, (string) wp_parse_url(home_url(), PHP_URL_HOST));
    } catch (\RuntimeException $error) {
        /* translators: %s is the reason */
        back(sprintf(__('The site could not be connected: %s', 'assent-consent'), $error->getMessage()), 'error');
    }
    update_option(OPTION, array_merge(options(), ['service' => $service, 'pixel' => $pixel]));
    back(__('The site is connected.', 'assent-consent'), 'success');
}

function save(): never
{
    require_form('assent_consent_save');
    $embeds = sanitize_key(wp_unslash($_POST['embeds'] ?? ''));
    $scripts = sanitize_textarea_field(wp_unslash($_POST['scripts'] ?? ''));
    update_option(OPTION, array_merge(options(), ['embeds' => in_array($embeds, PURPOSES, true) ? $embeds : '', 'scripts' => $scripts]));
    back(__('The settings are saved.', 'assent-consent'), 'success');
}

/** Finds or creates the pixel of a host, and turns its popup on. Throws with the sentence of the service. */
function find_pixel(string $service, string $key, string $host): string
{
    $host = preg_replace('/^www\./', '', strtolower($host));
    $pixels = call($service, $key, 'GET', '/v1/pixels')['pixels'] ?? [];
    $known = is_array($pixels) ? array_column($pixels, 'pixel_id', 'domain')[$host] ?? null : null;
    $pixel = call($service, $key, ...($known ? ['GET', '/v1/pixels/' . rawurlencode(pixel_id(['pixel_id' => $known]))] : ['POST', '/v1/pixels', ['domain' => $host]]));
    if (empty($pixel['consent_enabled'])) {
        $policy = ['controller_name' => wp_specialchars_decode(get_bloginfo('name'), ENT_QUOTES) ?: $host, 'purposes' => ['analytics', 'resolution']];
        call($service, $key, 'POST', '/v1/pixels/' . rawurlencode(pixel_id($pixel)) . '/consent', $policy);
    }
    return pixel_id($pixel);
}

/** @param array<string, mixed> $pixel */
function pixel_id(array $pixel): string
{
    $id = $pixel['pixel_id'] ?? null;
    if (!is_string($id) || preg_match('/^[A-Za-z0-9_-]{1,64}$/', $id) !== 1) {
        throw new \RuntimeException(__('the answer is not that of a consent service', 'assent-consent'));
    }
    return $id;
}

/** @return array<string, mixed> */
function call(string $service, string $key, string $method, string $path, mixed $body = null): array
{
    $headers = ['Authorization' => "Bearer $key", 'Content-Type' => 'application/json', 'Accept' => 'application/json'];
    $request = ['method' => $method, 'timeout' => 15, 'redirection' => 0, 'headers' => $headers];
    $answer = wp_remote_request($service . $path, $request + ($body === null ? [] : ['body' => wp_json_encode($body)]));
    if (is_wp_error($answer)) {
        throw new \RuntimeException($answer->get_error_message());
    }
    $status = (int) wp_remote_retrieve_response_code($answer);
    $read = json_decode(wp_remote_retrieve_body($answer), true);
    if ($status < 200 || $status > 299 || !is_array($read)) {
        $detail = is_array($read) && is_string($read['detail'] ?? null) ? $read['detail'] : "status $status";
        throw new \RuntimeException($detail);
    }
    return $read;
}

add_action('admin_menu', __NAMESPACE__ . '\add_page');
add_action('admin_post_assent_consent_connect', __NAMESPACE__ . '\connect');
add_action('admin_post_assent_consent_save', __NAMESPACE__ . '\save');
