<?php

// Prints the names of options and user data that contain a text: `php stored.php FOLDER TEXT`. With the name of an
// option and of a member instead, prints that.
$_SERVER['HTTP_HOST'] = 'wordpress.example';
require "$argv[1]/wp-load.php";

if (isset($argv[3])) {
    echo json_encode(get_option($argv[2])[$argv[3]]);
    exit;
}
global $wpdb;
$like = '%' . $wpdb->esc_like($argv[2]) . '%';
$options = $wpdb->get_col($wpdb->prepare("SELECT option_name FROM $wpdb->options WHERE option_name LIKE %s OR option_value LIKE %s", $like, $like));
$users = $wpdb->get_col($wpdb->prepare("SELECT meta_key FROM $wpdb->usermeta WHERE meta_key LIKE %s OR meta_value LIKE %s", $like, $like));
// WordPress's own lists of plugins, which it renews later.
$lists = ['recently_activated', '_transient_plugin_slugs', '_site_transient_update_plugins'];
echo json_encode(array_values(array_diff([...$options, ...$users], $lists)));
