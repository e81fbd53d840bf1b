<?php

declare(strict_types=1);

namespace Assent;

/** Takes the place of PHP's function in assent.php. */
function microtime(bool $asFloat): float
{
    return $GLOBALS['now'];
}
