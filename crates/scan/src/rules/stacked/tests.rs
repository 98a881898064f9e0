//! What is stacked and what is not.

use super::RULE;
use crate::rules::said;

/// A function of Python that tries a call so many times.
fn tries(name: &str, times: u32, call: &str) -> String {
    format!(
        "import time\ndef {name}(c):\n    for i in range({times}):\n        try:\n            return \
         {call}\n        except OSError:\n            if i == {}: raise\n            time.sleep(1)\n",
        times - 1
    )
}

#[test]
fn across_files_the_product_is_reported() {
    let outer = tries("report", 4, "users.load_user(c)");
    let inner = tries("load_user", 3, "c.get_it()");
    assert_eq!(
        said(&RULE, &[("a.py", &outer), ("b.py", &inner)]),
        ["3 error: the retry of b.py:3 is inside this one: 4 × 3 = 12 calls for one request"]
    );
    let other = tries("load_user", 5, "c.get_it()");
    assert_eq!(
        said(&RULE, &[("a.py", &outer), ("b.py", &inner), ("c.py", &other)]),
        [""; 0],
        "two have this name"
    );
}

#[test]
fn through_a_function_between() {
    let outer = tries("report", 4, "users.read_user(c)");
    let between = "def read_user(c):\n    return users.load_user(c)\n";
    let inner = tries("load_user", 3, "c.get_it()");
    let files = [("a.py", outer), ("b.py", format!("{between}{inner}"))];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    assert_eq!(
        said(&RULE, &files),
        ["3 error: the retry of b.py:5 is inside this one: 4 × 3 = 12 calls for one request"]
    );
}

#[test]
fn one_after_the_other_is_not_stacked() {
    let text = format!("{}{}", tries("one", 3, "c.load_it()"), tries("two", 4, "c.store_it()"));
    assert_eq!(said(&RULE, &[("a.py", &text)]), [""; 0]);
}

#[test]
fn names_that_say_nothing_are_not_followed() {
    let text =
        format!("{}{}", tries("report", 4, "session.get(c)"), tries("get", 3, "c.load_it()"));
    assert_eq!(said(&RULE, &[("a.py", &text)]), [""; 0]);
}

#[test]
fn a_decorated_function_that_calls_another() {
    let text = format!(
        "from tenacity import retry, stop_after_attempt\n@retry(stop=stop_after_attempt(5))\ndef \
         report(c):\n    return load_user(c)\n{}",
        tries("load_user", 3, "c.get_it()")
    );
    assert_eq!(
        said(&RULE, &[("a.py", &text)]),
        ["2 error: the retry of line 7 is inside this one: 5 × 3 = 15 calls for one request"]
    );
}

#[test]
fn a_client_that_retries_by_itself() {
    let client = "from requests import Session\nfrom requests.adapters import HTTPAdapter\nfrom \
                  urllib3.util import Retry\nsession = Session()\nsession.mount('https://', \
                  HTTPAdapter(max_retries=Retry(total=4)))\n";
    let with = format!("{client}{}", tries("report", 3, "session.get(c)"));
    assert_eq!(
        said(&RULE, &[("a.py", &with)]),
        ["8 error: the retry of line 5 is inside this one: 3 × 5 = 15 calls for one request"]
    );
    let without = format!("{client}{}", tries("report", 3, "other.get(c)"));
    assert_eq!(said(&RULE, &[("a.py", &without)]), [""; 0]);
}
