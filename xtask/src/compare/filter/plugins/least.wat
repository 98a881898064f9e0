;; The least that sets a limit by class and counts attempts: the class is read, the limit is set, the
;; number of attempts is read. What is not here is what a plugin has to do itself: nothing is kept
;; between the calls, nothing is checked, and a value is not looked at beyond its length.
(module
  (import "env" "proxy_get_header_map_value"
    (func $get (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_replace_header_map_value"
    (func $set (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "x-damper-class")
  (data (i32.const 1056) "x-envoy-max-retries")
  (data (i32.const 1088) "x-envoy-attempt-count")
  (data (i32.const 1120) "51")
  (global $attempts (mut i32) (i32.const 0))
  (func (export "malloc") (param i32) (result i32) (i32.const 4096))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (drop
      (call $get (i32.const 0) (i32.const 1024) (i32.const 14) (i32.const 2048) (i32.const 2052)))
    ;; "high" has four letters and may retry five times; all else may once.
    (call $set (i32.const 0) (i32.const 1056) (i32.const 19)
      (select (i32.const 1120) (i32.const 1121)
        (i32.eq (i32.load (i32.const 2052)) (i32.const 4)))
      (i32.const 1)))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop
      (call $get (i32.const 2) (i32.const 1088) (i32.const 21) (i32.const 2048) (i32.const 2052)))
    (global.set $attempts
      (i32.add (global.get $attempts)
        (i32.sub (i32.load8_u (i32.const 4096)) (i32.const 48))))
    (i32.const 0))
  (func (export "proxy_on_delete") (param i32)))
