<?php

// Installs WordPress and creates the page of the test: `php install.php FOLDER`.
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'wordpress.example';
$_SERVER['REQUEST_URI'] = '/';
require "$argv[1]/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

wp_install('Shop', 'admin', 'admin@wordpress.example', true, '', 'password');
wp_create_user('reader', 'password', 'reader@wordpress.example');
wp_insert_post([
    'post_type' => 'page', 'post_status' => 'publish', 'post_author' => 1, 'post_title' => 'Privacy', 'post_name' => 'privacy',
    'post_content' => "[embed]http://videos.example/1[/embed]\n\n[assent_settings label=\"Privacy & cookies\"]\n\n[test_permits]",
]);
wp_insert_post([
    'post_type' => 'page', 'post_status' => 'publish', 'post_author' => 1, 'post_title' => 'Blocks', 'post_name' => 'blocks',
    'post_content' => wp_slash('<!-- wp:assent-consent/settings {"label":"\u003cb\u003eSettings\u003c/b\u003e"} /--><!-- wp:assent-consent/your-data /-->'),
]);
