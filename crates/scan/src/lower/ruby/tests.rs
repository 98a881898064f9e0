//! Retries and near-misses of Ruby, and what they are declared in.

use crate::language::Language;
use crate::lower::check::{deep, every_prefix, show};

const RUBY: Language = Language::Ruby;

const AGAIN: &str = "begin
  tries ||= 3
  call
rescue Timeout::Error, Net::OpenTimeout => e
  sleep 1
  retry unless (tries -= 1).zero?
  raise
else
  done
ensure
  close
end
def fetch(url, tries: 3, wait = 2, *rest, **opts, &block)
  attempt = 0
  block.call(url)
  yield url
rescue StandardError
  attempt += 1
  retry if attempt < tries
  raise Failed, \"after #{attempt}\" unless opts[:quiet]
end
";

const LOOPS: &str = "5.times { |i| break if ping(i) }
1.upto(MAX) do |n|
  return get(n)
rescue E
  sleep(2**n)
end
3.downto(1) { |n| next if n == 2; run }
loop do
  x = work
  next unless x
  break x
end
[1, 2, 4].each do |wait| sleep wait end
begin n += 1 end while n < 5
n -= 1 until n.zero?
until ok do ok = try_it end
while true; a, (b, *c) = pair; end
for i in 0...3 do puts i end
value = load rescue nil
items.map { |x| next 0 if x.nil?; x * 2 }
";

const DECLARATIONS: &str = "require 'retriable'
module Jobs
  class Mail < ApplicationJob
    retry_on Net::Error, wait: :exponentially_longer, attempts: 3, \"x\" => 1
    RETRIES = %w[a b].freeze
    MAX_WAIT = 1_000
    def initialize(tries = 3, (a, b)) = @tries = tries
    def self.call(job) = new.run(job)
    def run
      self.state = :done
      @last&.time ||= Time.now + 5.seconds
      client = Faraday.new(url: 'u', tries:, **opts) { |f| f.request :retry, max: 2 }
      Retriable.retriable(on: [A, B], &work)
      handler = ->(x, y = 1) { x || y }
      { a: 1, :b => 2, 'c' => 3, d => 4, **more }
    end
  end
end
case status
when 200, 201 then ok
when Integer then again
else raise 'bad'
end
case
when x > 1, y then a()
when z then b()
end
case reply
in Integer => n if n > 1 then n
in other then other
end
v = a ? b : !c && not(d)
";

#[test]
fn begin_and_again() {
    insta::assert_snapshot!(show(RUBY, AGAIN));
}

#[test]
fn loops() {
    insta::assert_snapshot!(show(RUBY, LOOPS));
}

#[test]
fn declarations() {
    insta::assert_snapshot!(show(RUBY, DECLARATIONS));
}

#[test]
fn cut_texts() {
    for text in [AGAIN, LOOPS, DECLARATIONS] {
        every_prefix(RUBY, text);
    }
}

#[test]
fn deep_texts() {
    deep(RUBY, "x = ", "[", "]", "");
    deep(RUBY, "", "if x then 0 else ", " end", "");
    deep(RUBY, "", "begin; f { ", " }; rescue; end", "");
    deep(RUBY, "", "def f(x = ", "); end", "");
}
