"""The commands of `meta-tui`, one module a group. Bodies import what they need, so that `--help`
and replay stay light; what is shared by them stands in `meta_tui.commands.output`."""
