"""Studies of two plain functions, which `pipeline.workflow.plain_studies` makes."""

from pipeline.workflow.plain_studies import study as study
