<?php

declare(strict_types=1);

defined('ABSPATH') || exit;

/**
 * Whether the visitor of this request permits a purpose, such as `analytics`: known from the header `Assent-Visitor` or
 * from the cookie of a shared choice, and confirmed by the service. False without either, and after any failure.
 */
function assent_permits(string $purpose): bool
{
    return \Assent\WordPress\permits($purpose);
}
