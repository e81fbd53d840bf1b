<?php

defined('WP_UNINSTALL_PLUGIN') || exit;

delete_metadata('user', 0, 'assent_consent_sign_in', '', true);
if (!is_multisite()) {
    delete_option('assent_consent');
    return;
}
foreach (get_sites(['fields' => 'ids', 'number' => 0]) as $assent_consent_site) {
    switch_to_blog($assent_consent_site);
    delete_option('assent_consent');
    restore_current_blog();
}
