<?php

// A theme's script, and a provider of videos that is not on the network.
add_action('wp_enqueue_scripts', fn() => wp_enqueue_script('shop-statistics', 'http://stats.example/wordpress.js', [], null, true));
add_filter('pre_oembed_result', fn() => '<iframe src="http://videos.example/embed" title="Video" width="320" height="180"></iframe>');
add_filter('pre_http_request', fn($answer, $args, $url) => str_starts_with($url, 'http://localhost:') ? $answer : new WP_Error('offline', 'offline'), 10, 3);

// A language, a service that is not one, what PHP knows of a visitor, and the WP Consent API, as the tests want them.
add_filter('locale', fn(string $locale): string => isset($_GET['german']) ? 'de_DE' : $locale);
add_filter('pre_http_request', function ($answer, $args, $url) {
    $injection = '<img src=x onerror="window.injected = true">';
    $elsewhere = array_fill_keys(['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'], 'https://elsewhere.example/');
    $body = ['detail' => $injection, 'result' => ['structuredContent' => ['pixel_id' => "\">$injection"]], 'issuer' => 'https://hostile.example/mixed'] + $elsewhere;
    $response = ['response' => ['code' => preg_match('~/(id|mixed)/~', $url) ? 200 : 400], 'headers' => [], 'cookies' => [], 'body' => json_encode($body)];
    return str_starts_with($url, 'https://hostile.example') ? $response : $answer;
}, 20, 3);
add_shortcode('test_permits', fn(): string => function_exists('assent_permits') ? implode(' ', array_map(fn(string $purpose): string => $purpose . '=' . json_encode(assent_permits($purpose)), ['analytics', 'newsletter', 'unknown'])) : '');
if (isset($_GET['consent_api'])) {
    function wp_has_consent(string $category): bool
    {
        return false;
    }
    add_action('wp_head', fn() => print '<script>window.wp_set_consent = (category, value) => ((window.wpConsent ||= {})[category] = value)</script>');
    add_action('wp_footer', fn() => print '<p>' . esc_html('type ' . apply_filters('wp_get_consent_type', 'none') . ' registered ' . json_encode(apply_filters('wp_consent_api_registered_assent-consent/assent-consent.php', false))) . '</p>');
}
