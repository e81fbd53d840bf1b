<?php

// A theme's script, and a provider of videos that is not on the network.
add_action('wp_enqueue_scripts', fn() => wp_enqueue_script('shop-statistics', 'http://stats.example/wordpress.js', [], null, true));
add_filter('pre_oembed_result', fn() => '<iframe src="http://videos.example/embed" title="Video" width="320" height="180"></iframe>');
add_filter('pre_http_request', fn($answer, $args, $url) => str_starts_with($url, 'http://localhost:') ? $answer : new WP_Error('offline', 'offline'), 10, 3);
