"""How far the answers under an experiment keep to their plans, by words and by meaning."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MEASURES = ("consistency", "similarity")


def upgrade() -> None:
    for name in MEASURES:
        op.add_column("exposures", sa.Column(name, sa.Double(), nullable=True))


def downgrade() -> None:
    for name in MEASURES:
        op.drop_column("exposures", name)
