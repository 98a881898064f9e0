//! Retries and near-misses of PHP, and what they are declared in.

use crate::language::Language;
use crate::lower::check::{deep, every_prefix, show};

const PHP: Language = Language::Php;

const LOOPS: &str = "<?php
for ($i = 0, $d = 100; $i < self::MAX; $i++, $d *= 2) {
  try {
    return $this->client->get($url, timeout: 2, ...$more);
  } catch (ConnectException | \\A\\TimeoutException $e) {
    if ($i === 2) { throw $e; } elseif (!$fine) break; else if ($x) continue;
    usleep($d * 1000 + random_int(0, 100));
  } finally { echo \"try $i\"; }
}
do { $ok = @send($m); } while (!$ok && ++$n < 5);
while (true): sleep(2 ** $n); endwhile;
foreach ($items as $k => $v) {
  foreach ($v as &$x) {
    if ($x) continue 2;
    switch ($x) {
      case 1: case 2: a(); break;
      case 3: if ($y) break; b(); continue 2;
      default: break 3;
    }
  }
}
for (;;) { goto end; }
end:
$again = fn($n) => $n > 0 ? call() : $n ?: 3;
";

const DECLARATIONS: &str = "<?php
declare(strict_types=1);
namespace App\\Jobs;
use A\\B\\C as D, E;
use A\\{B, C\\F as G};
const TRIES = 3;
#[Retry(times: 3), Other]
final class Job extends Base implements ShouldQueue, \\X\\Y {
  use Dispatchable;
  const int MAX = 5, MIN = 1;
  public int $tries = 5, $more;
  public static $backoff = [1, 5, 10];
  public function __construct(private readonly Http $http, public int $n = 2, string ...$rest) { run(); }
  #[Pure] public static function backoff(): array { return ['a' => 1, $k => 2, ...$x]; }
  abstract function none();
}
enum Wait: int { case Short = 1; case Long; }
$x = new D($a?->b['c'], static function () use ($y) { return $y ?? null; });
$y = new class(1) extends Base { public $tries = 3; };
[$a, $b] = $pair; ['k' => $c] = $map; list(, $d, ) = $pair; [, $h] = $pair;
$i = new static($d);
$z = match (true) { $n > 1, false => 'x' . 1, default => throw new E('no') };
$f = strlen(...); A::$b->{$c}(A::D, A::class, (int) -$n, <<<T
plain
T);
$x ??= 1; $s .= 'a'; $e instanceof E; function g(&$r) { static $n = 0; yield $n; exit(1); }
";

#[test]
fn loops() {
    insta::assert_snapshot!(show(PHP, LOOPS));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(show(PHP, DECLARATIONS));
}

#[test]
fn cut_texts() {
    for text in [LOOPS, DECLARATIONS] {
        every_prefix(PHP, text);
    }
}

#[test]
fn deep_texts() {
    deep(PHP, "<?php $x = ", "(", ")", ";");
    deep(PHP, "<?php ", "switch ($x) { case 0: a(); default: ", "; }", "");
    deep(PHP, "<?php if ($x) {} ", "elseif ($y) {} ", "", ";");
}
