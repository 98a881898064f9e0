# expect H50: retry attempts=3 delay=constant base=1000 jitter=none wasted
def h50
  begin
    tries ||= 3
    call(job)
  rescue Timeout::Error
    sleep 1
    retry unless (tries -= 1).zero?
    raise
  end
end
