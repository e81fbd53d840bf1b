<?php

declare(strict_types=1);

namespace Assent\WordPress;

defined('ABSPATH') || exit;

/** The newest version of the protocol that these calls follow. */
const PROTOCOL = '2025-11-25';

/** The address of a service without a slash at its end. Throws unless secrets can be sent there. */
function service_address(string $typed): string
{
    $address = untrailingslashit(esc_url_raw(trim($typed), ['https', 'http']));
    if (!is_confidential($address)) {
        throw new \RuntimeException(__('the address of the service must begin with https://', 'assent-consent'));
    }
    return $address;
}

/** Whether nobody can read what is sent to an address: https, or this machine. */
function is_confidential(string $address): bool
{
    $host = (string) wp_parse_url($address, PHP_URL_HOST);
    return $host !== '' && (wp_parse_url($address, PHP_URL_SCHEME) === 'https' || in_array($host, ['localhost', '127.0.0.1', '[::1]'], true));
}

/** Finds or creates the pixel of this site, and turns its popup on. Throws with the sentence of the service. */
function find_pixel(string $service, string $credential): string
{
    $host = preg_replace('/^www\./', '', strtolower((string) wp_parse_url(home_url(), PHP_URL_HOST)));
    $pixel = use_tool($service, $credential, 'create_pixel', ['domain' => $host]);
    $id = $pixel['pixel_id'] ?? null;
    if (!is_string($id) || preg_match('/^[A-Za-z0-9_-]{1,64}$/', $id) !== 1) {
        throw new \RuntimeException(__('the answer is not that of a consent service', 'assent-consent'));
    }
    if (empty($pixel['consent_enabled'])) {
        $name = wp_specialchars_decode(get_bloginfo('name'), ENT_QUOTES) ?: $host;
        use_tool($service, $credential, 'configure_consent', ['pixel_id' => $id, 'controller_name' => $name, 'purposes' => ['analytics', 'resolution']]);
    }
    return $id;
}

/**
 * Calls a tool of the service, which admits keys and tokens of apps.
 *
 * @param array<string, mixed> $arguments
 * @return array<string, mixed>
 */
function use_tool(string $service, string $credential, string $tool, array $arguments): array
{
    $headers = ['Authorization' => "Bearer $credential", 'Accept' => 'application/json, text/event-stream', 'MCP-Protocol-Version' => PROTOCOL];
    $message = ['jsonrpc' => '2.0', 'id' => 1, 'method' => 'tools/call', 'params' => ['name' => $tool, 'arguments' => $arguments]];
    $answer = send_json("$service/mcp", $message, $headers);
    $result = $answer['result'] ?? null;
    if (is_array($result) && empty($result['isError']) && is_array($result['structuredContent'] ?? null)) {
        return $result['structuredContent'];
    }
    $said = $result['content'][0]['text'] ?? $answer['error']['message'] ?? null;
    throw new \RuntimeException(is_string($said) ? $said : __('the answer is not that of a consent service', 'assent-consent'));
}

/**
 * @param array<string, mixed> $body
 * @param array<string, string> $headers
 * @return array<string, mixed>
 */
function send_json(string $address, array $body, array $headers = []): array
{
    return request($address, ['method' => 'POST', 'body' => wp_json_encode($body), 'headers' => ['Content-Type' => 'application/json'] + $headers]);
}

/**
 * Sends a request and returns the object in its answer. Throws with what the service says if it refuses.
 *
 * @param array<string, mixed> $options
 * @return array<string, mixed>
 */
function request(string $address, array $options = []): array
{
    $answer = wp_remote_request($address, array_replace_recursive(['timeout' => 15, 'redirection' => 0, 'headers' => ['Accept' => 'application/json']], $options));
    if (is_wp_error($answer)) {
        throw new \RuntimeException($answer->get_error_message());
    }
    $status = (int) wp_remote_retrieve_response_code($answer);
    $read = json_decode(wp_remote_retrieve_body($answer), true);
    if ($status < 200 || $status > 299 || !is_array($read)) {
        $said = is_array($read) ? $read['detail'] ?? $read['error_description'] ?? null : null;
        throw new \RuntimeException(is_string($said) ? $said : "status $status");
    }
    return $read;
}
