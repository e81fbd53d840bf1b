<?php

declare(strict_types=1);

require __DIR__ . '/../assent.php';

use Assent\Client;
use Assent\Error;
use Assent\WebhookError;

use function Assent\hem;
use function Assent\renewedCookie;
use function Assent\sharedChoice;
use function Assent\verifyWebhook;

$input = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
$client = new Client($input['base'] ?? '', $input['pixel'], $input['key'] ?? null);

function expect(mixed $actual, mixed $expected, string $what): void
{
    if ($actual !== $expected) {
        fwrite(STDERR, "$what: " . var_export($actual, true) . ' instead of ' . var_export($expected, true) . "\n");
        exit(1);
    }
}

/** The code and the message of the error. */
function refusal(callable $call): array
{
    try {
        $call();
    } catch (Error | WebhookError $error) {
        return [$error->getCode(), $error->getMessage()];
    }
    return [];
}

$cases = [
    'check' => function () use ($client, $input): void {
        $check = $client->check($input['accepted'], 'analytics');
        expect([$check['permitted'], $check['reason']], [true, 'ok'], 'the acceptance');
        expect($client->permits($input['accepted'], 'analytics'), true, 'permitted');
        expect($client->permits($input['accepted'], 'newsletter'), false, 'another purpose');
        expect($client->permits($input['declined'], 'analytics'), false, 'the decline');
        expect($client->permits('unknown', 'analytics'), false, 'an unknown visitor');
        expect($client->permits(null, 'analytics'), false, 'no visitor');
    },
    'cache' => function () use ($client, $input): void {
        $fresh = new Client($input['base'], $input['pixel'], null, 2.0, 0.0);
        expect([$client->permits($input['accepted'], 'analytics'), $fresh->permits($input['accepted'], 'analytics')], [true, true], 'before');
        echo "permitted\n";
        fgets(fopen($input['continue'], 'r'));
        expect($client->permits($input['accepted'], 'analytics'), true, 'within five seconds');
        expect($fresh->permits($input['accepted'], 'analytics'), false, 'without a cache');
    },
    'unreachable' => function () use ($input): void {
        $client = new Client('http://127.0.0.1:9', $input['pixel'], $input['key']);
        expect($client->permits($input['accepted'], 'analytics'), false, 'permitted');
        expect(refusal(fn() => $client->contactsPage()), [0, 'the service could not be reached'], 'the error');
    },
    'contacts' => function () use ($client, $input): void {
        $ann = hem(' Ann@Example.com ');
        $stored = $client->storeContacts([
            ['hem' => $ann, 'contact' => ['name' => 'Ann'], 'visitor_id' => $input['accepted']],
            ['hem' => hem('bob@example.com'), 'contact' => ['name' => 'Bob'], 'visitor_id' => $input['declined']],
        ]);
        expect([$stored['stored'], $stored['refused'][0]['reason']], [1, 'declined_or_withdrawn'], 'stored');
        $names = array_map(fn($contact) => $contact['contact']['name'], iterator_to_array($client->contacts(), false));
        expect($names, ['Ann'], 'read');
        expect($client->contact($ann)['hem'], $ann, 'one contact');
        $client->deleteContact($ann);
        expect(refusal(fn() => $client->contact($ann)), [404, 'contact not found'], 'deleted');
        expect($client->withdrawn()['withdrawn'], [], 'withdrawn');
        $other = new Client($input['base'], $input['other_pixel'], $input['key']);
        expect(refusal(fn() => $other->contactsPage()), [404, 'pixel not found'], 'a pixel of another account');
        $keyless = new Client($input['base'], $input['pixel']);
        expect(refusal(fn() => $keyless->contactsPage()), [0, 'this call needs an API key'], 'no key');
    },
    'webhook' => function () use ($input): void {
        ['secret' => $secret, 'headers' => $headers, 'body' => $body] = $input;
        expect(verifyWebhook($secret, $headers, $body)['data']['pixel_id'], $input['pixel'], 'the event');
        $several = ['webhook-signature' => 'v1,AAAA ' . $headers['webhook-signature']] + $headers;
        expect(verifyWebhook($secret, $several, $body)['type'], 'choice.recorded', 'several signatures');
        $sign = function (int $at, string $key) use ($headers, $body): array {
            $signature = 'v1,' . base64_encode(hash_hmac('sha256', "{$headers['webhook-id']}.$at.$body", $key, true));
            return ['webhook-timestamp' => (string) $at, 'webhook-signature' => $signature] + $headers;
        };
        $key = base64_decode(substr($secret, 6));
        $forged = [
            'another body' => [$headers, "$body "],
            'another id' => [['webhook-id' => 'evt_1'] + $headers, $body],
            'too old' => [$sign(time() - 302, $key), $body],
            'in the future' => [$sign(time() + 330, $key), $body],
            'another secret' => [$sign(time(), 'other'), $body],
            'no headers' => [[], $body],
        ];
        foreach ($forged as $name => [$named, $text]) {
            expect(refusal(fn() => verifyWebhook($secret, $named, $text)) !== [], true, $name);
        }
    },
    'cookie' => function () use ($input): void {
        ['pixel' => $pixel, 'host' => $host] = $input;
        $GLOBALS['now'] = $input['now'] / 1000;
        require __DIR__ . '/clock.php';
        foreach ($input['cases'] as $case) {
            $days = $case['days'] ?? 182;
            expect(sharedChoice($case['cookie'], $pixel, $days), $case['choice'], "the choice: {$case['name']}");
            expect(renewedCookie($case['cookie'], $pixel, $host, $days), $case['renewed'], "the cookie: {$case['name']}");
        }
        ['cookie' => $cookie, 'choice' => $choice, 'renewed' => $renewed] = $input['cases'][0];
        expect(sharedChoice($cookie, $pixel), $choice, 'days are 182');
        expect(renewedCookie($cookie, $pixel, $host), $renewed, 'the cookie for 182 days');
        foreach ($input['wrong_hosts'] as $wrong) {
            try {
                renewedCookie(null, $pixel, $wrong);
                expect($wrong, null, 'a host that is not refused');
            } catch (InvalidArgumentException) {
            }
        }
    },
    'clock' => function () use ($input): void {
        ['cookie' => $cookie, 'choice' => $choice] = $input['cases'][0];
        $cookie = str_replace((string) $choice['time'], (string) (1000 * (time() - 60)), $cookie);
        preg_match('/; Max-Age=(\d+);/', renewedCookie($cookie, $input['pixel'], $input['host']) ?? '', $found);
        expect(abs((int) ($found[1] ?? 0) - (182 * 86_400 - 60)) <= 10, true, 'the time of the clock');
    },
];

$cases[$argv[1]]();
echo "ok\n";
