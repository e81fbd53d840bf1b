<?php

/**
 * Consent checks, contacts and webhooks of Assent. One file without dependencies, for PHP 8.2 and later.
 *
 * Version 1.0.0. Licence: MIT or Apache-2.0, at your option.
 */

declare(strict_types=1);

namespace Assent;

const VERSION = '1.0.0';

/** The service refused a call: the code is the status, the message its sentence. The code is 0 if it was not reached. */
final class Error extends \RuntimeException
{
}

/** The webhook was not sent by the service, was changed, or is too old. */
final class WebhookError extends \RuntimeException
{
}

/** Calls about one pixel. */
final class Client
{
    /** @var array<string, float> the ends of permissions that may be used again, in seconds since 1970 */
    private array $permissions = [];

    /**
     * @param string $service the public address of the service
     * @param string $pixel the id of the pixel
     * @param string|null $apiKey needed for contacts
     * @param float $timeout in seconds
     * @param float $maxAge for how many seconds this object uses a permission again
     */
    public function __construct(
        private readonly string $service,
        private readonly string $pixel,
        #[\SensitiveParameter] private readonly ?string $apiKey = null,
        private readonly float $timeout = 2.0,
        private readonly float $maxAge = 5.0,
    ) {
    }

    /** The id of the visitor whom the current request names with the header `Assent-Visitor`. */
    public static function visitor(): ?string
    {
        $visitor = $_SERVER['HTTP_ASSENT_VISITOR'] ?? null;
        return is_string($visitor) && $visitor !== '' ? $visitor : null;
    }

    /** Whether a purpose is permitted. Without a visitor, and after any failure, it is not. */
    public function permits(?string $visitor, string $purpose): bool
    {
        if ($visitor === null || $visitor === '' || $purpose === '') {
            return false;
        }
        $key = "$purpose $visitor";
        if (($this->permissions[$key] ?? 0.0) > microtime(true)) {
            return true;
        }
        unset($this->permissions[$key]);
        // A withdrawal may be recorded while the answer is under way, so the age of a permission counts from the question.
        $asked = microtime(true);
        try {
            $check = $this->check($visitor, $purpose);
        } catch (Error) {
            return false;
        }
        if (($check['permitted'] ?? null) !== true) {
            return false;
        }
        $expires = is_string($check['expires_at'] ?? null) ? strtotime($check['expires_at']) : false;
        $this->permissions[$key] = min($asked + $this->maxAge, $expires === false ? INF : (float) $expires);
        return true;
    }

    /**
     * The answer of `GET /v1/consent/check`: `permitted`, `reason`, `receipt_id`, `purposes`, `expires_at` and others.
     *
     * @return array<string, mixed>
     */
    public function check(string $visitor, string $purpose): array
    {
        $query = ['pixel_id' => $this->pixel, 'visitor_id' => $visitor, 'required_purpose' => $purpose];
        return $this->call('GET', '/v1/consent/check?' . http_build_query($query));
    }

    /**
     * Stores up to 1,000 people: `hem`, `contact`, optional `seen_at` and `visitor_id`. Returns `stored` and `refused`.
     *
     * @param list<array<string, mixed>> $contacts
     * @return array<string, mixed>
     */
    public function storeContacts(array $contacts): array
    {
        return $this->call('POST', $this->path('/contacts'), ['contacts' => $contacts]);
    }

    /**
     * A page of contacts in the order of their changes: `contacts`, and `changed_high_water` to pass as the next
     * `$changedAfter`.
     *
     * @return array<string, mixed>
     */
    public function contactsPage(int $changedAfter = 0, int $limit = 1000): array
    {
        return $this->call('GET', $this->path("/contacts?changed_after=$changedAfter&limit=$limit"));
    }

    /**
     * All contacts that are new or have changed since then.
     *
     * @return \Generator<int, array<string, mixed>>
     */
    public function contacts(int $changedAfter = 0): \Generator
    {
        while (($page = $this->contactsPage($changedAfter))['contacts']) {
            foreach ($page['contacts'] as $contact) {
                yield $contact;
            }
            $changedAfter = $page['changed_high_water'];
        }
    }

    /**
     * Contacts whose consent has ended, of which copies must be deleted: `withdrawn`, and `high_water` to pass as the next
     * `$after`.
     *
     * @return array<string, mixed>
     */
    public function withdrawn(int $after = 0, int $limit = 1000): array
    {
        return $this->call('GET', $this->path("/contacts/withdrawn?after=$after&limit=$limit"));
    }

    /** @return array<string, mixed> */
    public function contact(string $hem): array
    {
        return $this->call('GET', $this->path('/contacts/' . rawurlencode($hem)));
    }

    public function deleteContact(string $hem): void
    {
        $this->call('DELETE', $this->path('/contacts/' . rawurlencode($hem)));
    }

    private function path(string $rest): string
    {
        if ($this->apiKey === null || $this->apiKey === '') {
            throw new Error('this call needs an API key');
        }
        return '/v1/pixels/' . rawurlencode($this->pixel) . $rest;
    }

    /** @return array<string, mixed> */
    private function call(string $method, string $path, mixed $body = null): array
    {
        $headers = ['Accept: application/json', 'Connection: close'];
        if ($this->apiKey !== null && str_starts_with($path, '/v1/pixels/')) {
            $headers[] = "Authorization: Bearer $this->apiKey";
        }
        $http = ['method' => $method, 'timeout' => $this->timeout, 'ignore_errors' => true, 'follow_location' => 0];
        if ($body !== null) {
            $headers[] = 'Content-Type: application/json';
            $http['content'] = json_encode($body, JSON_THROW_ON_ERROR);
        }
        $context = stream_context_create(['http' => $http + ['header' => $headers]]);
        $stream = @fopen(rtrim($this->service, '/') . $path, 'r', false, $context);
        $text = $stream === false ? false : @stream_get_contents($stream);
        $meta = $stream === false ? [] : stream_get_meta_data($stream);
        $line = $meta['wrapper_data'][0] ?? '';
        if ($text === false || $meta['timed_out'] || !preg_match('~^HTTP/\S+ (\d{3})~', $line, $found)) {
            throw new Error('the service could not be reached');
        }
        $status = (int) $found[1];
        $answer = $text === '' ? [] : json_decode($text, true);
        if ($status < 200 || $status > 299) {
            $detail = is_array($answer) ? $answer['detail'] ?? null : null;
            throw new Error(is_string($detail) ? $detail : 'invalid request', $status);
        }
        if (!is_array($answer)) {
            throw new Error('the answer could not be read', $status);
        }
        return $answer;
    }
}

/** The hashed email address by which the service names a person. */
function hem(string $email): string
{
    $email = trim($email);
    return hash('sha256', function_exists('mb_strtolower') ? mb_strtolower($email, 'UTF-8') : strtolower($email));
}

/**
 * The choice that the header `Cookie` of a request contains for a pixel; null if there is none. Every page of the site
 * can write the cookie: a refusal may be believed, an acceptance only after `permits` or `check`. A choice that is more
 * than five minutes in the future is ignored.
 *
 * `state` is `accepted`, `declined` or `withdrawn`. `time` is in milliseconds since 1970, by the visitor's clock.
 * `purposes` are the accepted ones, and empty for a refusal. `receipt_id` is null until the service has recorded a
 * refusal.
 *
 * @param string|null $cookies `$_SERVER['HTTP_COOKIE'] ?? null`; `$_COOKIE` has only one of several cookies of one name
 * @param string $pixel the id of the pixel
 * @param int $days `consent_days` of the configuration; an older choice is ignored
 * @return array{
 *     state: string,
 *     time: int,
 *     purposes: list<string>,
 *     policy_hash: string,
 *     visitor_id: string,
 *     receipt_id: ?string,
 * }|null
 */
function sharedChoice(?string $cookies, string $pixel, int $days = 182): ?array
{
    return SharedCookie::find($cookies, $pixel, $days)?->choice;
}

/**
 * The value of a header `Set-Cookie` that writes the request's choice again, for as many seconds as it is still valid;
 * null if there is none to write. It is optional, and only matters for Safari, which keeps cookies that scripts have
 * written for at most seven days. Send it with pages, and let no shared cache store them: the cookie names the visitor.
 *
 * @param string|null $cookies the header `Cookie`: `$_SERVER['HTTP_COOKIE'] ?? null`
 * @param string $pixel the id of the pixel
 * @param string $host the host of the pixel; an `\InvalidArgumentException` is thrown if it is not the name of a host
 * @param int $days `consent_days` of the configuration
 */
function renewedCookie(?string $cookies, string $pixel, string $host, int $days = 182): ?string
{
    if (!preg_match('/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/D', $host)) {
        throw new \InvalidArgumentException('the host must be a name such as shop.example');
    }
    $found = SharedCookie::find($cookies, $pixel, $days);
    if ($found === null) {
        return null;
    }
    $seconds = (int) floor($found->remaining($days) / 1000);
    // A life of 0 seconds would delete the cookie.
    if ($seconds < 1) {
        return null;
    }
    return "assent=$found->value; Max-Age=$seconds; Path=/; Domain=$host; Secure; SameSite=Lax";
}

/**
 * A cookie of a site whose subdomains share one choice.
 *
 * @internal
 */
final class SharedCookie
{
    private const DAY_MS = 86_400_000;
    /** Tolerance for a visitor's clock that is ahead. */
    private const SKEW_MS = 300_000;
    // `\w` would depend on the locale.
    private const FORM = '/^ *assent=(1\.([A-Za-z0-9_-]+)\.(accepted|declined|withdrawn)\.([1-9][0-9]{0,15})\.'
        . '([A-Za-z0-9_~]*)\.([0-9a-f]{64})\.([A-Za-z0-9_-]{1,128})\.([A-Za-z0-9_-]*)\.[A-Za-z0-9_]+)$/D';

    /** @param array<string, mixed> $choice as `sharedChoice` returns it */
    private function __construct(public readonly string $value, public readonly array $choice)
    {
    }

    /** The cookie that counts. */
    public static function find(?string $cookies, string $pixel, int $days): ?self
    {
        $last = null;
        // A request can contain several cookies of one name.
        foreach (explode(';', $cookies ?? '') as $cookie) {
            $next = self::parse($cookie, $pixel);
            if ($next?->isValid($days) && !$last?->isLaterThan($next)) {
                $last = $next;
            }
        }
        return $last;
    }

    private static function parse(string $cookie, string $pixel): ?self
    {
        if (!preg_match(self::FORM, $cookie, $parts)) {
            return null;
        }
        [, $value, $owner, $state, $time, $purposes, $hash, $visitor, $receipt] = $parts;
        // The tag shares an acceptance only after it was recorded.
        if ($owner !== $pixel || ($state === 'accepted' && $receipt === '')) {
            return null;
        }
        return new self($value, [
            'state' => $state,
            'time' => (int) $time,
            'purposes' => $state === 'accepted' && $purposes !== '' ? explode('~', $purposes) : [],
            'policy_hash' => $hash,
            'visitor_id' => $visitor,
            'receipt_id' => $receipt === '' ? null : $receipt,
        ]);
    }

    /** For how many milliseconds the choice is still valid. */
    public function remaining(int $days): float
    {
        return $this->choice['time'] + $days * self::DAY_MS - microtime(true) * 1000;
    }

    private function isValid(int $days): bool
    {
        return $this->remaining($days) > 0 && $this->choice['time'] < microtime(true) * 1000 + self::SKEW_MS;
    }

    /** Of two choices of the same time, a refusal is later. */
    private function isLaterThan(self $other): bool
    {
        [$one, $two] = [$this->choice, $other->choice];
        $isSame = $one['time'] === $two['time'];
        return $one['time'] > $two['time'] || ($isSame && $one['state'] !== 'accepted' && $two['state'] === 'accepted');
    }
}

/** The headers of a webhook in the current request. @return array<string, string> */
function webhookHeaders(): array
{
    $headers = [];
    foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) {
        $headers[$name] = (string) ($_SERVER['HTTP_' . strtoupper(strtr($name, '-', '_'))] ?? '');
    }
    return $headers;
}

/**
 * Returns the event (`type`, `timestamp`, `data`) of a webhook that was signed with the secret (`whsec_…`) at most five
 * minutes ago, as defined by Standard Webhooks.
 *
 * @param array<string, string> $headers with lowercase names
 * @param string $body as it was received
 * @return array<string, mixed>
 */
function verifyWebhook(#[\SensitiveParameter] string $secret, array $headers, string $body): array
{
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret), true);
    if ($key === false || $key === '') {
        throw new \InvalidArgumentException('the secret must be whsec_ and base64');
    }
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    $signatures = $headers['webhook-signature'] ?? '';
    if ($id === '' || $signatures === '' || !preg_match('/^\d{1,15}$/D', $timestamp)) {
        throw new WebhookError('a header is missing or not valid');
    }
    if (abs(time() - (int) $timestamp) > 300) {
        throw new WebhookError('the timestamp is too far from now');
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    foreach (explode(' ', $signatures) as $signature) {
        if (hash_equals($expected, $signature)) {
            return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
        }
    }
    throw new WebhookError('no signature matches');
}
