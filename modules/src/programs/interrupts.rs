//! Rows on interrupts: which there are, and their CPUs, by names that stay over boots.
use super::Program;

/// Finds `$n`, the number of the interrupt that is called `$1`: by the folder that the kernel makes for its name, which
/// costs nothing where there are thousands; else by /proc/interrupts, for names that are no file names.
macro_rules! number {
    ($then:literal) => {
        concat!(
            r#"n=; case $1 in */*) ;; *) for f in /proc/irq/[0-9]*/"$1"; do [ -d "$f" ] && { n=${f#/proc/irq/}; n=${n%%/*}; break; }; done;; esac
[ -n "$n" ] || n=$(NAME=$1 awk 'FNR==1{c=NF;next} $1~/^[0-9]+:$/{s="";f=0;for(i=c+2;i<=NF;i++){if(f)s=s (s==""?"":" ") $i
if(tolower($i)~/(edge|level|fasteoi)$/)f=1} if(s==ENVIRON["NAME"]){print $1+0;exit}}' /proc/interrupts)
[ -n "$n" ] || { echo "there is no interrupt $1" >&2; exit 1; }
"#,
            $then
        )
    };
}

/// Programs that look and never change anything.
pub const READING: &[Program] = &[
    Program::new(
        "interrupts",
        &[
            "awk",
            "NR==1{n=NF} $1~/^[0-9]+:$/{s=$1; for(i=n+2;i<=NF;i++) s=s\" \"$i; print s}",
            "/proc/interrupts",
        ],
        "numbers, kinds and names of interrupts, without their counts",
    )
    .of_live_files(&["/proc/interrupts"]),
    Program::new(
        "interrupt-cpus",
        &["sh", "-c", number!(r#"cat "/proc/irq/$n/smp_affinity_list""#), "interrupt-cpus"],
        "the CPUs that may serve an interrupt, by its name",
    )
    .of_live_files(&["/proc/irq"]),
];

/// Programs that change a host.
pub const MUTATING: &[Program] = &[Program::new(
    "interrupt-place",
    // A shell's own printf calls every failed write an I/O error.
    &[
        "sh",
        "-c",
        number!(r#"printf %s "$2" | tee "/proc/irq/$n/smp_affinity_list" >/dev/null"#),
        "interrupt-place",
    ],
    "says which CPUs may serve an interrupt, by its name",
)];
