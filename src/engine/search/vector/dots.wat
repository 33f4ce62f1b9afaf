;; Inner products of one query with many rows, in single precision, sixteen numbers at a time.
;; The binary form stands in dot-kernel.ts; made from this text with `wat2wasm --enable-simd`.
(module
  (import "e" "m" (memory 1))
  (func (export "dots") (param $q i32) (param $d i32) (param $rows i32) (param $dim i32) (param $out i32)
    (local $end i32) (local $wide i32) (local $four i32) (local $p i32)
    (local $a v128) (local $b v128) (local $c v128) (local $e v128) (local $s f32)
    ;; byte offsets into the query at which the loops of 16, of 4 and of 1 floats end
    (local.set $wide (i32.add (local.get $q) (i32.shl (i32.and (local.get $dim) (i32.const -16)) (i32.const 2))))
    (local.set $four (i32.add (local.get $q) (i32.shl (i32.and (local.get $dim) (i32.const -4)) (i32.const 2))))
    (local.set $end (i32.add (local.get $q) (i32.shl (local.get $dim) (i32.const 2))))
    (block $done
      (br_if $done (i32.eqz (local.get $rows)))
      (loop $row
        (local.set $a (v128.const i32x4 0 0 0 0))
        (local.set $b (v128.const i32x4 0 0 0 0))
        (local.set $c (v128.const i32x4 0 0 0 0))
        (local.set $e (v128.const i32x4 0 0 0 0))
        (local.set $p (local.get $q))
        (block $wideDone
          (loop $wideLoop
            (br_if $wideDone (i32.ge_u (local.get $p) (local.get $wide)))
            (local.set $a (f32x4.add (local.get $a) (f32x4.mul (v128.load align=4 (local.get $p)) (v128.load align=4 (local.get $d)))))
            (local.set $b (f32x4.add (local.get $b) (f32x4.mul (v128.load offset=16 align=4 (local.get $p)) (v128.load offset=16 align=4 (local.get $d)))))
            (local.set $c (f32x4.add (local.get $c) (f32x4.mul (v128.load offset=32 align=4 (local.get $p)) (v128.load offset=32 align=4 (local.get $d)))))
            (local.set $e (f32x4.add (local.get $e) (f32x4.mul (v128.load offset=48 align=4 (local.get $p)) (v128.load offset=48 align=4 (local.get $d)))))
            (local.set $p (i32.add (local.get $p) (i32.const 64)))
            (local.set $d (i32.add (local.get $d) (i32.const 64)))
            (br $wideLoop)))
        (block $fourDone
          (loop $fourLoop
            (br_if $fourDone (i32.ge_u (local.get $p) (local.get $four)))
            (local.set $a (f32x4.add (local.get $a) (f32x4.mul (v128.load align=4 (local.get $p)) (v128.load align=4 (local.get $d)))))
            (local.set $p (i32.add (local.get $p) (i32.const 16)))
            (local.set $d (i32.add (local.get $d) (i32.const 16)))
            (br $fourLoop)))
        (local.set $a (f32x4.add (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $e))))
        (local.set $s (f32.add
          (f32.add (f32x4.extract_lane 0 (local.get $a)) (f32x4.extract_lane 1 (local.get $a)))
          (f32.add (f32x4.extract_lane 2 (local.get $a)) (f32x4.extract_lane 3 (local.get $a)))))
        (block $oneDone
          (loop $oneLoop
            (br_if $oneDone (i32.ge_u (local.get $p) (local.get $end)))
            (local.set $s (f32.add (local.get $s) (f32.mul (f32.load (local.get $p)) (f32.load (local.get $d)))))
            (local.set $p (i32.add (local.get $p) (i32.const 4)))
            (local.set $d (i32.add (local.get $d) (i32.const 4)))
            (br $oneLoop)))
        (f32.store (local.get $out) (local.get $s))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br_if $row (local.tee $rows (i32.sub (local.get $rows) (i32.const 1))))))))
