<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/**
 * The purposes of scripts by their handles, from lines such as `google-analytics: analytics`.
 *
 * @return array<string, string>
 */
function gated_handles(): array
{
    $handles = [];
    foreach (explode("\n", options()['scripts']) as $line) {
        [$handle, $purposes] = array_map('trim', explode(':', $line, 2)) + [1 => ''];
        $known = array_intersect(preg_split('/\s+/', $purposes) ?: [], PURPOSES);
        if ($handle !== '' && $known) {
            $handles[$handle] = implode(' ', $known);
        }
    }
    return $handles;
}

/** Makes the script elements of a gated handle wait for the tag; the tag restores a module by `data-assent-type`. */
function gate_script(string $html, string $handle): string
{
    $purposes = gated_handles()[$handle] ?? '';
    if ($purposes === '' || tag_address() === '') {
        return $html;
    }
    return preg_replace_callback('/<script\b([^>]*)>/i', function (array $found) use ($purposes): string {
        $is_module = preg_match('/\stype\s*=\s*["\']?module\b/i', $found[1]) === 1;
        $rest = preg_replace('/\stype\s*=\s*("[^"]*"|\'[^\']*\'|\S+)/i', '', $found[1]);
        $type = $is_module ? ' data-assent-type="module"' : '';
        return '<script type="text/plain" data-assent="' . esc_attr($purposes) . '"' . $type . $rest . '>';
    }, $html);
}

/** Makes the frames of embedded content wait. Scripts beside a frame wait too. */
function gate_embed(mixed $html): mixed
{
    $purpose = options()['embeds'];
    if (!is_string($html) || $purpose === '' || tag_address() === '' || is_admin()) {
        return $html;
    }
    $html = preg_replace_callback('/<iframe\b([^>]*)>/i', function (array $found) use ($purpose): string {
        $rest = preg_replace('/\ssrc\s*=/i', ' data-src=', $found[1], 1, $count);
        return $count === 0 ? $found[0] : '<iframe data-assent="' . esc_attr($purpose) . '"' . $rest . '>';
    }, $html);
    return preg_replace('/<script\b(?![^>]*\stype\s*=)/i', '<script type="text/plain" data-assent="' . esc_attr($purpose) . '"', $html);
}

add_filter('script_loader_tag', __NAMESPACE__ . '\gate_script', PHP_INT_MAX, 2);
add_filter('embed_oembed_html', __NAMESPACE__ . '\gate_embed', PHP_INT_MAX);
add_filter('embed_handler_html', __NAMESPACE__ . '\gate_embed', PHP_INT_MAX);
